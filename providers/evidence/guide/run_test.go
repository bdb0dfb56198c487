package guide

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/landedhq/landed/handlers/api/apitest"
	"github.com/landedhq/landed/journal"
	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/postgres"
	"github.com/landedhq/landed/providers/evidence"
	"github.com/landedhq/landed/providers/evidence/sql"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

const (
	repo   = "../../.."
	login  = "desk:s3cret" // also what stands in every other credential
	reader = "landed_guide_reader"
)

// rig is a journal behind its API, and a recording server for all providers.
type rig struct {
	*testing.T
	lang  Lang
	store *postgres.Store
	rec   *recorder
	env   []string
	dir   string
}

func newRig(t *testing.T, l Lang) *rig {
	t.Helper()
	store, err := postgres.Open(t.Context(), journaltest.Database(t, postgres.Migrate), postgres.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	database := journaltest.Database(t, payouts)
	r := &rig{T: t, lang: l, store: store, rec: newRecorder(t, database), dir: t.TempDir()}
	r.env = []string{"LANDED_URL=" + apitest.Serve(t, store), "LANDED_TOKEN=" + apitest.Token(t, store, string(l)), "PROVIDER_TOKEN=" + login,
		"DATABASE_URL=" + database, "RECORDER=" + r.rec.URL, "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}
	return r
}

// payouts is the table of the SQL example.
func payouts(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	migration, err := sql.Table{Schema: "app", Name: "payouts"}.Migration(reader)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `DO $$ BEGIN CREATE ROLE `+reader+`; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
CREATE SCHEMA app;
CREATE TABLE app.payouts (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, order_no text NOT NULL, amount numeric NOT NULL);
`+migration)
	return err
}

// entries are all guides, each sent to its own place on the recording server.
func (r *rig) entries() []Entry {
	var out []Entry
	for _, name := range Names() {
		s, err := sampleOf(name)
		if err != nil {
			r.Fatal(err)
		}
		e := Entry{name, r.rec.URL + "/" + name}
		if s.form == asSMTP {
			e.Address = r.rec.smtp.Addr().String()
		}
		out = append(out, e)
	}
	return out
}

func (r *rig) write(files []File) {
	r.Helper()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(r.dir, f.Name), []byte(f.Content), 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

// command runs a tool of the language in the worker's folder.
func (r *rig) command(how, name string, args ...string) *exec.Cmd {
	r.Helper()
	bin, err := exec.LookPath(name)
	if err != nil {
		journaltest.Missing(r.T, name, how)
	}
	cmd := exec.CommandContext(r.Context(), bin, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = r.dir, r.env, 10*time.Second
	return cmd
}

func (r *rig) must(cmd *exec.Cmd) {
	r.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		r.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// build writes the worker with every tool, compiles it at once, and returns what
// starts it.
func (r *rig) build() func(args ...string) *exec.Cmd {
	r.Helper()
	files, err := Worker(r.lang, r.entries()...)
	if err != nil {
		r.Fatal(err)
	}
	r.write(files)
	switch r.lang {
	case Go:
		return r.buildGo()
	case Python:
		const how = "apt-get install --no-install-recommends python3 (3.11 or newer)"
		r.copy("testdata/psycopg.py")
		r.copy(repo + "/journal/client/examples/python/landed.py")
		return func(args ...string) *exec.Cmd {
			return r.command(how, "python3", append([]string{"-W", "error", "worker.py"}, args...)...)
		}
	}
	return r.buildJava()
}

func (r *rig) copy(name string) {
	r.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		r.Fatal(err)
	}
	r.write([]File{{filepath.Base(name), string(b)}})
}

// buildGo makes a module that requires this one, with what this one requires.
func (r *rig) buildGo() func(args ...string) *exec.Cmd {
	r.Helper()
	top, err := filepath.Abs(repo)
	if err != nil {
		r.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		r.Fatal(err)
	}
	mod = regexp.MustCompile(`(?m)^module .*`).ReplaceAll(mod, []byte("module example.com/worker"))
	mod = append(mod, "\nrequire github.com/landedhq/landed v0.0.0\n\nreplace github.com/landedhq/landed => "+filepath.ToSlash(top)+"\n"...)
	r.write([]File{{"go.mod", string(mod)}})
	r.copy(filepath.Join(top, "go.sum"))
	for _, args := range [][]string{{"vet", "."}, {"build", "-o", "worker", "."}} {
		cmd := exec.CommandContext(r.Context(), "go", args...)
		cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
		r.must(cmd)
	}
	return func(args ...string) *exec.Cmd { return r.command("", filepath.Join(r.dir, "worker"), args...) }
}

func (r *rig) buildJava() func(args ...string) *exec.Cmd {
	r.Helper()
	const how = "apt-get install --no-install-recommends openjdk-17-jdk-headless (17 or newer)"
	r.copy("testdata/Recorded.java")
	sources, err := filepath.Glob(filepath.Join(r.dir, "*.java"))
	if err != nil {
		r.Fatal(err)
	}
	client, err := filepath.Abs(repo + "/journal/client/examples/java/landed")
	if err != nil {
		r.Fatal(err)
	}
	err = filepath.WalkDir(client, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".java") {
			sources = append(sources, path)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	r.must(r.command(how, "javac", append([]string{"-encoding", "UTF-8", "--release", "17", "-Xlint:all", "-Werror", "-d", "classes"}, sources...)...))
	return func(args ...string) *exec.Cmd {
		return r.command(how, "java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djdbc.drivers=example.Recorded", "-cp", "classes", "example.Main"}, args...)...)
	}
}

// line is what the worker says of one call.
type line struct {
	Tool       string `json:"tool"`
	Status     string `json:"status"`
	ProviderID string `json:"provider_id"`
	Reason     string `json:"reason"`
}

// run starts the worker with calls of these tools.
func (r *rig) run(start func(args ...string) *exec.Cmd, root string, names ...string) map[string]line {
	r.Helper()
	var args []string
	for _, name := range names {
		s, err := sampleOf(name)
		if err != nil {
			r.Fatal(err)
		}
		args = append(args, name, s.args)
	}
	cmd := start(args...)
	cmd.Env = append(cmd.Env, "RUN="+root)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("the worker ends with %v\n%s%s", err, out, errs.String())
	}
	lines := map[string]line{}
	for text := range strings.Lines(string(out)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			r.Fatalf("the worker says %q", text)
		}
		lines[l.Tool] = l
	}
	return lines
}

// ref is the reference of the effect that a call made, as the journal knows it.
func (r *rig) ref(root, name string) string {
	r.Helper()
	key, err := journal.DeriveKey(root, "example", name, "")
	if err != nil {
		r.Fatal(err)
	}
	return journal.Ref("", key)
}

// Every example, in every language, is compiled and run. What the recording server
// got is then looked through for each value of the instruction, at its place.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	for _, l := range Langs() {
		t.Run(string(l), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, l)
			start := r.build()
			said := r.run(start, "order-17", Names()...)
			for _, name := range Names() {
				r.judge(name, said[name])
			}
			r.toolsKnown()
			r.rowFound("order-17")
			for name, l := range r.run(start, "order-17", Names()...) { // the same run once more
				if l.Status != "done" || len(r.rec.take(name)) > 0 {
					t.Errorf("%s: a second start says %+v, or sent again", name, l)
				}
			}
			r.noYes(start)
		})
	}
}

// judge looks at one example's call.
func (r *rig) judge(name string, said line) {
	r.Helper()
	g, err := Of(name)
	if err != nil {
		r.Fatal(err)
	}
	s, _ := sampleOf(name)
	if said.Status != "done" || s.id != nil && said.ProviderID == "" {
		r.Errorf("%s: the worker says %+v", name, said)
		return
	}
	if s.id != nil && !strings.Contains(s.answer, said.ProviderID) {
		r.Errorf("%s: the id %q is none of the answer", name, said.ProviderID)
	}
	if s.form == asSQL {
		return // rowFound looks
	}
	got := r.rec.take(name)
	if len(got) != 1 {
		r.Errorf("%s: %d requests, want 1", name, len(got))
		return
	}
	ref := r.ref("order-17", name)
	r.look(g, s, got[0], ref)
	checkWriter(r.T, name, got[0], ref)
	feed(r.T, g, got[0], ref)
}

// toolsKnown compares what the workers registered with what the guides say.
func (r *rig) toolsKnown() {
	r.Helper()
	tools, err := r.store.Tools(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	var got, want []string
	for _, t := range tools {
		got = append(got, fmt.Sprint(t.Name, t.Class, t.KeyWindow, t.Provider, t.ClientTimeout))
	}
	for _, name := range Names() {
		g, err := Of(name)
		if err != nil {
			r.Fatal(err)
		}
		want = append(want, fmt.Sprint(name, g.Tool.Class, g.Tool.KeyWindow, name, clientTimeout))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("the tools that were registered (-guide +journal):\n%s", diff)
	}
}

// look checks each field of the instruction.
func (r *rig) look(g Guide, s sample, got recorded, ref string) {
	r.Helper()
	key := journal.ProviderKey(ref, 1)
	known := map[Kind]string{Ref: ref, DashedRef: journal.Dashed(ref), ProviderKey: key, DashedProviderKey: journal.Dashed(key)}
	for _, f := range g.Fields {
		if strings.Contains(f.Name, "(only with ") {
			continue
		}
		want := ""
		for _, p := range f.Value {
			if want += p.Text; p.Kind != Literal {
				want += known[p.Kind]
			}
		}
		values, err := found(g.Name, f, got)
		if err != nil || !slices.Equal(values, []string{want}) {
			r.Errorf("%s: at %s %s stands %q (%v), want %q\n%s", g.Name, f.Place, f.Name, values, err, want, got.Body)
		}
	}
	if s.form != asSMTP && s.auth.name != "" && !strings.HasSuffix(got.Header.Get(s.auth.name), login) {
		r.Errorf("%s: the credentials are %q", g.Name, got.Header.Get(s.auth.name))
	}
	if verb, path, ok := strings.Cut(g.Request, " "); ok && strings.HasPrefix(path, "/") && (got.Method != verb || !samePath(path, got.Path)) {
		r.Errorf("%s: the request is %s %s, want %s", g.Name, got.Method, got.Path, g.Request)
	}
}

// samePath compares a path with one that has {…} or vXX.X in it. The instruction may
// leave out what every path of an API begins with.
func samePath(pattern, path string) bool {
	p := regexp.QuoteMeta(pattern)
	p = regexp.MustCompile(`\\\{[^}]*\\\}|XX\\\.X`).ReplaceAllString(p, `[^/]+`)
	return regexp.MustCompile(p + "$").MatchString(path)
}

// rowFound asks the adapter itself whether the SQL example's row can be found.
func (r *rig) rowFound(root string) {
	r.Helper()
	u, err := url.Parse(r.rec.database)
	if err != nil {
		r.Fatal(err)
	}
	q := u.Query() // the private server knows one role only, so the other is taken on
	q.Set("options", "-crole="+reader)
	u.User, u.RawQuery = url.UserPassword(u.User.Username(), "none"), q.Encode()
	dsn := u.String()
	a, err := sql.Config{DSN: evidence.Fixed(dsn), Statement: "SELECT id, landed_ref FROM app.payouts WHERE landed_ref = $1"}.Open()
	if err != nil {
		r.Fatal(err)
	}
	s, err := a.Session(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	answer, err := s.Find(r.Context(), evidence.Query{Ref: r.ref(root, "sql"), From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	if err != nil || len(answer.Matches) != 1 {
		r.Errorf("sql: the look-up finds %d rows: %v", len(answer.Matches), err)
	}
}

// noYes runs an example against a provider that fails, and one that refuses: the
// first leaves the outcome unknown, the second does not.
func (r *rig) noYes(start func(args ...string) *exec.Cmd) {
	r.Helper()
	for _, row := range []struct {
		answer int
		status string
	}{{502, "unknown"}, {422, "refused"}} {
		r.rec.answers(row.answer)
		said := r.run(start, fmt.Sprint("answers-", row.answer), "freshdesk.ticket")
		if got := said["freshdesk.ticket"]; got.Status != row.status || len(r.rec.take("freshdesk.ticket")) != 1 {
			r.Errorf("after %d the worker says %+v", row.answer, got)
		}
	}
	r.rec.answers(0)
}
