package rtdesk

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// obj is a JSON object as RT writes it.
type obj = map[string]any

// view writes records for one account and one address of the desk.
type view struct {
	d       *Desk
	base    string // http://host/REST/2.0
	account Account
}

func (d *Desk) view(r *http.Request, a Account) view {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return view{d: d, base: scheme + "://" + r.Host + "/REST/2.0", account: a}
}

func (v view) ref(kind, id string) obj {
	return obj{"type": kind, "id": id, "_url": v.base + "/" + kind + "/" + id}
}

func (v view) user(name string) obj { return v.ref("user", name) }

// fields is the list of a ticket's custom fields: only what applies to its queue
// and what the account may see.
func (v view) fields(t *Ticket) []obj {
	if !v.account.SeeField || t.Queue != v.d.cfg.Queue {
		return []obj{}
	}
	f := v.ref("customfield", strconv.Itoa(v.d.cfg.FieldID))
	f["name"] = v.d.cfg.Field
	values := []string{}
	if t.Ref != "" {
		values = append(values, t.Ref)
	}
	f["values"] = values
	return []obj{f}
}

// ticket is a ticket read by its id. queueFields are the queue's fields asked for
// by fields[Queue].
func (v view) ticket(t *Ticket, queueFields string) obj {
	id := strconv.Itoa(t.ID)
	queue := v.ref("queue", strconv.Itoa(v.d.queueID(t.Queue)))
	if strings.Contains(","+queueFields+",", ",Name,") {
		queue["Name"] = ""
		if v.account.SeeQueue {
			queue["Name"] = t.Queue
		}
	}
	requestors := []obj{}
	if t.Requestor != "" {
		requestors = append(requestors, v.user(t.Requestor))
	}
	return obj{
		"id": t.ID, "EffectiveId": v.ref("ticket", id), "Type": "ticket",
		"Subject": t.Subject, "Status": t.Status, "Queue": queue,
		"Created": stamp(t.Created), "LastUpdated": stamp(t.Updated), "Resolved": stamp(t.Resolved),
		"Started": stamp(t.startedAt()), "Starts": stamp(time.Time{}), "Due": stamp(time.Time{}),
		"Creator": v.user(t.Creator), "LastUpdatedBy": v.user(t.UpdatedBy), "Owner": v.user("Nobody"),
		"Requestor": requestors, "Cc": []obj{}, "AdminCc": []obj{},
		"Priority": "0", "InitialPriority": "0", "FinalPriority": "0",
		"TimeEstimated": "0", "TimeLeft": "0", "TimeWorked": "0",
		"CustomFields": v.fields(t), "_hyperlinks": v.links(t),
	}
}

// startedAt follows RT: a ticket that was closed before anybody started it was
// started when it was closed.
func (t *Ticket) startedAt() time.Time { return t.Resolved }

func (v view) links(t *Ticket) []obj {
	id := strconv.Itoa(t.ID)
	self := v.ref("ticket", id)
	self["id"], self["ref"] = t.ID, "self"
	links := []obj{self}
	if len(v.fields(t)) > 0 {
		f := v.ref("customfield", strconv.Itoa(v.d.cfg.FieldID))
		f["ref"], f["name"] = "customfield", v.d.cfg.Field
		links = append(links, f)
	}
	return append(links, obj{"ref": "history", "_url": v.base + "/ticket/" + id + "/history"})
}

// row is a ticket in a list, with the fields that were asked for.
func (v view) row(t *Ticket, fields []string) obj {
	o := v.ref("ticket", strconv.Itoa(t.ID))
	for _, f := range fields {
		switch f {
		case "Subject":
			o[f] = t.Subject
		case "Status":
			o[f] = t.Status
		case "Created":
			o[f] = stamp(t.Created)
		case "EffectiveId":
			o[f] = strconv.Itoa(effectiveID(t))
		case "Queue":
			o[f] = v.ref("queue", strconv.Itoa(v.d.queueID(t.Queue)))
		case "CustomFields":
			o[f] = ""
			if list := v.fields(t); len(list) > 0 {
				o[f] = list
			}
		case "":
		default:
			o[f] = ""
		}
	}
	return o
}

// creation is the transaction that created t, in a list. The desk numbers it like
// the ticket.
func (v view) creation(t *Ticket, fields []string) obj {
	o := v.ref("transaction", strconv.Itoa(t.ID))
	for _, f := range fields {
		switch f {
		case "ObjectId":
			o[f] = strconv.Itoa(t.ID)
		case "Type":
			o[f] = "Create"
		case "Created":
			o[f] = stamp(t.Created)
		case "":
		default:
			o[f] = ""
		}
	}
	return o
}

func (v view) queue(id int) obj {
	name := v.d.queueName(id)
	fields := []obj{}
	if v.account.SeeField && name == v.d.cfg.Queue {
		f := v.ref("customfield", strconv.Itoa(v.d.cfg.FieldID))
		f["ref"], f["name"] = "customfield", v.d.cfg.Field
		fields = append(fields, f)
	}
	self := v.ref("queue", strconv.Itoa(id))
	self["id"], self["ref"] = id, "self"
	links := []obj{self, {"ref": "history", "_url": v.base + "/queue/" + strconv.Itoa(id) + "/history"}}
	if v.account.Create {
		links = append(links, obj{"ref": "create", "type": "ticket", "_url": v.base + "/ticket?Queue=" + strconv.Itoa(id)})
	}
	opened := stamp(v.d.now())
	return obj{
		"id": id, "Name": name, "Description": "", "Disabled": "0", "SLADisabled": "1", "SortOrder": "0",
		"Lifecycle": "default", "CommentAddress": "", "CorrespondAddress": "",
		"Created": opened, "LastUpdated": opened,
		"Creator": v.user("RT_System"), "LastUpdatedBy": v.user("RT_System"),
		"Cc": []obj{}, "AdminCc": []obj{}, "CustomFields": []obj{},
		"TicketCustomFields": fields, "TicketTransactionCustomFields": []obj{},
		"_hyperlinks": links,
	}
}

// stamp is a time as RT writes it; RT knows no empty time.
func stamp(t time.Time) string {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}
