// Package directives silences findings.
package directives

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/landedhq/landed/journal/worker"
)

func above(url string) {
	//landed:unjournaled a metric that may be lost and doubled
	http.Post(url, "text/plain", nil)
	http.Post(url, "text/plain", nil) // want `http.Post causes an effect`
}

func beside(url string) {
	http.Post(url, "text/plain", nil) //landed:unjournaled a metric that may be lost and doubled
}

// whole sends metrics.
//
//landed:unjournaled metrics may be lost and doubled
func whole(url string) {
	http.Post(url, "text/plain", nil)
	http.Post(url, "text/plain", nil)
}

func noReason(url string) {
	//landed:unjournaled // want `//landed:unjournaled gives no reason. Write //landed:unjournaled or //landed:key, followed by the reason`
	http.Post(url, "text/plain", nil) // want `http.Post causes an effect`
}

func key(ctx context.Context, w *worker.Worker) error {
	//landed:key each start is a run of its own
	_, err := w.Do(ctx, worker.Call{Key: uuid.NewString()})
	return err
}

func wrongVerb(url string) {
	//landed:key of another kind // want `//landed:key silences nothing. Remove it.`
	http.Post(url, "text/plain", nil) // want `http.Post causes an effect`
}

//landed:unjournaled nothing is left to silence // want `//landed:unjournaled silences nothing`
func unused() {}

//landed:unjournalled a typing error // want `there is no directive //landed:unjournalled`
func unknown() {}
