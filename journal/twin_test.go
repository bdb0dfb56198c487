package journal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNearTwins: what counts as the same deed under another key, and what does not.
func TestNearTwins(t *testing.T) {
	t.Parallel()
	me := Effect{ID: "a", Tool: "mail.send", RootRun: "r", Operation: "send", Subject: "Your invoice 7", Amount: "12.50", Currency: "EUR",
		Labels: map[string]string{"invoice": "7"}, Args: []byte(`{"to":"ann@example.com","subject":"Invoice 7","body":"Hello"}`)}
	other := func(f func(*Effect)) Effect {
		o := me
		o.ID, o.Subject, o.Amount, o.Currency, o.Labels, o.Args = "b", "Something else", "", "", nil, []byte(`{"to":"bob@example.com","subject":"Offer","body":"Hi"}`)
		f(&o)
		return o
	}
	tests := []struct {
		name string
		o    Effect
		want string
	}{
		{"the same subject", other(func(o *Effect) { o.Subject = me.Subject; o.Operation = "resend" }), TwinSubject},
		{"the same labels", other(func(o *Effect) { o.Labels = map[string]string{"invoice": "7"}; o.Operation = "resend" }), TwinLabels},
		{"the same amount and operation", other(func(o *Effect) { o.Amount, o.Currency = "12.50", "EUR" }), TwinAmount},
		{"the same amount in another currency", other(func(o *Effect) { o.Amount, o.Currency = "12.50", "USD" }), ""},
		{"a body worded anew", other(func(o *Effect) { o.Args = []byte(`{"to":"ann@example.com","subject":"Invoice 7","body":"Dear Ann"}`) }), TwinArgs},
		{"one more argument", other(func(o *Effect) {
			o.Args = []byte(`{"to":"ann@example.com","subject":"Invoice 7","body":"Hello","cc":[]}`)
		}), TwinArgs},
		{"another mail of the same run", other(func(*Effect) {}), ""},
		{"another tool", other(func(o *Effect) { o.Subject, o.Tool = me.Subject, "ticket.create" }), ""},
		{"another run", other(func(o *Effect) { o.Subject, o.RootRun = me.Subject, "s" }), ""},
		{"the one that takes its place", other(func(o *Effect) { o.Subject, o.Supersedes = me.Subject, "a" }), ""},
		{"arguments that are no object", other(func(o *Effect) { o.Args = []byte(`[1]`) }), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if ts := NearTwins(&me, []Effect{me, tt.o}); len(ts) == 1 {
				got = ts[0].Why
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("the differing arguments side by side", func(t *testing.T) {
		t.Parallel()
		o := other(func(o *Effect) { o.Args = []byte(`{"to":"ann@example.com","subject":"Invoice 7","body":"Dear Ann"}`) })
		got := NearTwins(&me, []Effect{o})[0]
		want := []FieldDiff{{Field: "body", Was: `"Hello"`, Now: `"Dear Ann"`}}
		if diff := cmp.Diff(want, got.Diff); diff != "" || got.SameArgs != 2 || got.AllArgs != 3 {
			t.Errorf("%d of %d (-want +got):\n%s", got.SameArgs, got.AllArgs, diff)
		}
	})
	t.Run("the most alike first, five at most", func(t *testing.T) {
		t.Parallel()
		var others []Effect
		for i, body := range []string{"x", "Hello", "y", "z", "v", "w", "u"} {
			others = append(others, other(func(o *Effect) {
				o.ID, o.Args = string(rune('b'+i)), []byte(`{"to":"ann@example.com","subject":"Invoice 7","body":"`+body+`"}`)
			}))
		}
		got := NearTwins(&me, others)
		if len(got) != MaxTwins || got[0].ID != "c" || got[1].ID != "b" {
			t.Errorf("%+v", got)
		}
	})
}
