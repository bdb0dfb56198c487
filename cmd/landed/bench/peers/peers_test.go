package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres/cluster"
)

// TestPeers runs everybody in the shortest form, and checks that the output holds
// what a reader of --json expects. No rate is asserted.
func TestPeers(t *testing.T) {
	t.Parallel()
	if _, err := cluster.FindBinaries(t.Context(), cluster.Config{}); err != nil {
		journaltest.Missing(t, "PostgreSQL", "apt-get install --no-install-recommends postgresql")
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--seconds", "0.2", "--rounds", "1", "--workers", "1,4", "--json"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r struct {
		Server, Durable string
		Counted         map[string]string
		Rows            []struct {
			Workers        int
			Systems        map[string]map[string]float64
			Ratio          map[string]float64
			UngroupedRatio map[string]float64 `json:"ungrouped_ratio"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Rows) != 2 || r.Server == "" || r.Durable == "" {
		t.Fatalf("printed %s (%v)", out.Bytes(), err)
	}
	figures := []string{"per_s", "wal_bytes", "statements"}
	if r.Rows[0].Systems["landed"]["statements"] == 0 {
		defer journaltest.Missing(t, "pg_stat_statements", "it comes with Debian's postgresql package; elsewhere with PostgreSQL's contrib modules")
		figures = figures[:2]
	}
	for i, w := range []int{1, 4} {
		row := r.Rows[i]
		if row.Workers != w || len(row.Ratio) != len(names())-1 || len(row.UngroupedRatio) != len(names())-2 {
			t.Errorf("row %d is %+v", i, row)
		}
		for _, name := range names() {
			if r.Counted[name] == "" {
				t.Errorf("it is not said what %s counts", name)
			}
			for _, figure := range figures {
				if row.Systems[name][figure] <= 0 {
					t.Errorf("%d workers, %s: %s is %v", w, name, figure, row.Systems[name][figure])
				}
			}
			if name != "landed" && row.Ratio[name] <= 0 {
				t.Errorf("%d workers: the ratio to %s is %v", w, name, row.Ratio[name])
			}
		}
	}
}

func TestRun_RefusesBadArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--workers", "0"}, {"--workers", "1,x"}, {"--seconds", "0"}, {"--rounds", "0"}, {"what"}, {"--colour"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestNewRow_ComparesRoundByRound gives rounds whose rates differ tenfold: the
// ratio is the median of the rounds' ratios, not the ratio of the medians.
func TestNewRow_ComparesRoundByRound(t *testing.T) {
	t.Parallel()
	turns := map[string][]turned{}
	for _, name := range names() {
		turns[name] = []turned{{1000, 9}, {100, 7}, {10, 8}}
	}
	turns["dbos"] = []turned{{250, 1}, {50, 2}, {1, 3}}
	turns["ungrouped"] = []turned{{500, 9}, {50, 9}, {5, 9}}
	r := newRow(3, turns, map[string]float64{"dbos": 16})
	want := figure{PerSecond: 50, Statements: 16, WALBytes: 2}
	if diff := cmp.Diff(want, r.Systems["dbos"]); diff != "" {
		t.Error(diff)
	}
	if r.Ratio["dbos"] != 4 || r.UngroupedRatio["dbos"] != 2 || r.Ratio["ungrouped"] != 2 || r.Ratio["river_one"] != 1 {
		t.Errorf("ratios %v, ungrouped %v", r.Ratio, r.UngroupedRatio)
	}
}
