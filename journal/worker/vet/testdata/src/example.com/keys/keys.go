// Package keys derives keys from what changes.
package keys

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/worker"
)

type agent struct{ w *worker.Worker }

type refund struct {
	Order, Note, Email string
}

func (a *agent) random(ctx context.Context) error {
	_, err := a.w.Do(ctx, worker.Call{Key: uuid.NewString()}) // want `the key is made by uuid.NewString, a new id in the function that uses it, so that whatever runs this again gets a new one. Take it from what started the run, store it before the call, or leave Key empty and set RootRun, Step and Item.`
	return err
}

func (a *agent) text(ctx context.Context) error {
	key := uuid.New().String() // want `the key is made by uuid.New, a new id`
	_, err := a.w.Do(ctx, worker.Call{Key: key})
	return err
}

func (a *agent) clock(ctx context.Context) error {
	key := "pay-" + strconv.FormatInt(time.Now().UnixNano(), 10) // want `the key is made by time.Now, the present time`
	_, err := a.w.Do(ctx, worker.Call{Key: key})
	return err
}

func (a *agent) dice(ctx context.Context) error {
	_, err := a.w.DoUntilSettled(ctx, worker.Call{Run: worker.Run{RootRun: "run-7"}, Step: "pay", Item: fmt.Sprint(rand.IntN(1000))}) // want `Item, a part of the key, is made by rand.IntN, random numbers`
	return err
}

func (a *agent) run(ctx context.Context) error {
	run := worker.Run{RootRun: uuid.NewString()} // want `RootRun, which the key begins with, is made by uuid.NewString`
	_, err := a.w.Do(ctx, worker.Call{Run: run, Step: "pay"})
	return err
}

func begin(order string) journal.BeginRequest {
	return journal.BeginRequest{Key: order + uuid.NewString()} // want `the key is made by uuid.NewString`
}

// J-07: the model rewords its arguments, and the key changes with them.
func (a *agent) hashed(ctx context.Context, in refund) error {
	args, err := json.Marshal(in)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(args)
	_, err = a.w.Do(ctx, worker.Call{Key: "refund-" + hex.EncodeToString(sum[:]), Args: args}) // want `the key is derived from the arguments of its call \(args\), so that a reworded argument makes a second effect. Set RootRun, Step and Item`
	return err
}

func (a *agent) written(ctx context.Context, args []byte) error {
	h := md5.New()
	h.Write(args)
	call := worker.Call{Args: args}
	call.Key = fmt.Sprintf("%x", h.Sum(nil)) // want `the key is derived from the arguments of its call \(args\)`
	_, err := a.w.Do(ctx, call)
	return err
}

func (a *agent) formatted(ctx context.Context, in refund) error {
	args, err := json.Marshal(&in)
	if err != nil {
		return err
	}
	_, err = a.w.Do(ctx, worker.Call{Run: worker.Run{RootRun: "run-7"}, Step: "refund", Item: fmt.Sprintf("%v", in), Args: args}) // want `Item, a part of the key, is derived from the arguments of its call \(in\)`
	return err
}

func keyOf(args []byte) string {
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:16])
}

func (a *agent) helped(ctx context.Context, call worker.Call) error {
	_, err := a.w.Do(ctx, worker.Call{Key: keyOf(call.Args), Args: call.Args}) // want `the key is derived from the arguments of its call \(call.Args\)`
	return err
}

type toolCall struct {
	ID, Name string
}

type message struct{ ToolCallID string }

// J-08: the framework's id is new whenever the model asks again.
func (a *agent) calls(ctx context.Context, t toolCall, m message, call_id string, block map[string]string) error {
	for _, key := range []string{"a", "b"} {
		if _, err := a.w.Do(ctx, worker.Call{Key: key + t.ID}); err != nil { // want `the key holds a framework's tool call id \(the ID of a tool call\), which is new whenever the model asks again. Set RootRun, Step and Item`
			return err
		}
	}
	if _, err := a.w.Do(ctx, worker.Call{Run: worker.Run{RootRun: "run-7"}, Step: m.ToolCallID}); err != nil { // want `Step, a part of the key, holds a framework's tool call id \(ToolCallID\)`
		return err
	}
	if _, err := a.w.Do(ctx, worker.Call{Key: call_id}); err != nil { // want `tool call id \(call_id\)`
		return err
	}
	_, err := a.w.Do(ctx, worker.Call{Key: block["tool_use_id"]}) // want `tool call id \(tool_use_id\)`
	return err
}

// The name of the tool and the subject are no call ids.
func (a *agent) fine(ctx context.Context, t toolCall, order string) error {
	_, err := a.w.Do(ctx, worker.Call{Tool: t.Name, Key: "crm/call_customer/" + order, Subject: t.ID})
	return err
}

// J-30: keys are logged and shown.
func (a *agent) person(ctx context.Context, in refund, email struct{ ID string }) error {
	if _, err := a.w.Do(ctx, worker.Call{Key: "welcome/" + in.Email}); err != nil { // want `the key holds personal data \(Email\), and keys are logged and shown. Use the id of the record that it belongs to.`
		return err
	}
	if _, err := a.w.Do(ctx, worker.Call{Key: "welcome/" + email.ID, Subject: in.Email}); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(in.Email)) // a hash of it is none
	_, err := a.w.Do(ctx, worker.Call{Key: hex.EncodeToString(sum[:])})
	return err
}

type charge struct {
	Amount int    `json:"amount"`
	Key    string `json:"idempotency_key"`
}

// J-11: a key in the wrong place protects nothing.
func (a *agent) misplaced(ctx context.Context, in charge) error {
	run := worker.Run{RootRun: "run-7"}
	if _, err := a.w.Do(ctx, worker.Call{Run: run, Step: "a", Args: []byte(`{"options":{"idempotencyKey":"k"}}`)}); err != nil { // want `the arguments hold "idempotencyKey", which looks like an idempotency key and protects nothing there. Pass it as Call.Key.`
		return err
	}
	args, err := json.Marshal(map[string]any{"amount": 5, "Idempotency-Key": "k"}) // want `the arguments hold "Idempotency-Key"`
	if err != nil {
		return err
	}
	if _, err := a.w.Do(ctx, worker.Call{Run: run, Step: "b", Args: args}); err != nil {
		return err
	}
	args2, err := json.Marshal(in) // want `the arguments hold "Key"`
	if err != nil {
		return err
	}
	_, err = a.w.Do(ctx, worker.Call{Run: run, Step: "c", Args: args2})
	return err
}
