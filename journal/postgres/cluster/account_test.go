package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// childEnv marks the run of this suite as an ordinary user.
const childEnv = "LANDED_CLUSTER_TEST_CHILD"

// The whole suite runs a second time as an ordinary user with a home of its own.
func TestSuite_AsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Getenv(childEnv) != "" || os.Geteuid() != 0 {
		t.Log("this run already is one of an ordinary user")
		return
	}
	probe(t)
	home := publicDir(t)
	cmd := exec.Command(runnable(t), "-test.v", "-test.run", "^Test(Start|Clear|Sweep|Fetch|Find)", "-test.timeout", "5m")
	asUser(t, cmd, "nobody")
	if err := os.Chown(home, int(cmd.SysProcAttr.Credential.Uid), int(cmd.SysProcAttr.Credential.Gid)); err != nil {
		t.Fatal(err)
	}
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), childEnv + "=1"}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestStart_KilledParentLeavesNoOrphanAndLosesNothing") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

func TestStart_RefusesOtherUsers(t *testing.T) {
	t.Parallel()
	needRootUnlessChild(t)
	c := start(t, Config{})
	// Open the way to the socket: the server itself has to refuse.
	if err := os.Chmod(c.place.sockets, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := runnable(t)
	ask := func(user, dsn string) string {
		cmd := exec.Command(binary)
		asUser(t, cmd, user)
		cmd.Env = []string{helperEnv + "=connect " + dsn}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("as %s: %v\n%s", user, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	dsn := c.DSN("postgres")
	if got := ask("root", dsn); got != "connected" {
		t.Errorf("root: %s", got)
	}
	if got := ask("daemon", dsn); !strings.Contains(got, `Peer authentication failed for user "landed"`) {
		t.Errorf("another user: %s", got)
	}
	if got := ask("root", strings.Replace(dsn, "landed@", "root@", 1)); !strings.Contains(got, "no pg_hba.conf entry") {
		t.Errorf("another role: %s", got)
	}
}

// The child's ordinary user cannot become others; the first run covers this.
func needRootUnlessChild(t *testing.T) {
	t.Helper()
	if os.Getenv(childEnv) != "" {
		t.Skip("covered by the run as root")
	}
	needRoot(t)
}

func TestStart_RootNeverRunsTheServerAsRoot(t *testing.T) {
	t.Parallel()
	needRootUnlessChild(t)
	c := start(t, Config{Dir: filepath.Join(publicDir(t), "demo")})
	info, err := os.Stat(c.place.data())
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := ownerOf(info)
	if uid == 0 {
		t.Error("the data belong to root")
	}
	for _, name := range []string{c.place.hba(), c.place.ident(), c.place.log()} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if owner, _ := ownerOf(info); owner != 0 || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s can be changed by the server's account: owner %d, %s", name, owner, info.Mode())
		}
	}
}

func TestStart_ClosedHomeKeepsALink(t *testing.T) {
	t.Parallel()
	needRootUnlessChild(t)
	closed := filepath.Join(publicDir(t), "home")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(closed, "demo")
	c := start(t, Config{Dir: dir})
	kept := c.Dir()
	t.Cleanup(func() { _ = os.RemoveAll(kept) })
	if strings.HasPrefix(kept, closed) {
		t.Fatalf("the data are at %s", kept)
	}
	exec1(t, open(t, c.DSN("postgres")), "CREATE TABLE effect AS SELECT 1")
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Dir: dir})
	if again.Dir() != kept || count(t, open(t, again.DSN("postgres")), "effect") != 1 {
		t.Errorf("the second start used %s, not %s", again.Dir(), kept)
	}
}

func TestAccount_ReachesByTheBitsOfItsOwn(t *testing.T) {
	t.Parallel()
	needRootUnlessChild(t)
	other := account{name: "other", uid: 12345, gid: 12345, drop: true}
	tests := map[string]struct {
		uid, gid int
		mode     os.FileMode
		want     bool
	}{
		"closed to others":               {0, 0, 0o700, false},
		"passable for others":            {0, 0, 0o711, true},
		"readable is not enough":         {0, 0, 0o744, false},
		"its own":                        {12345, 0, 0o100, true},
		"its own, open to others only":   {12345, 0, 0o011, false},
		"its group":                      {0, 12345, 0o710, true},
		"its group, open to others only": {0, 12345, 0o701, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(publicDir(t), "d")
			if err := os.MkdirAll(filepath.Join(dir, "below"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chown(dir, test.uid, test.gid), os.Chmod(dir, test.mode)); err != nil {
				t.Fatal(err)
			}
			if got := other.reaches(filepath.Join(dir, "below")); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestFindBinaries_FolderThatTheAccountCannotEnter(t *testing.T) {
	t.Parallel()
	needRootUnlessChild(t)
	closed := filepath.Join(publicDir(t), "root")
	fakeServer(t, closed, "17.10")
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := FindBinaries(t.Context(), Config{BinDir: closed})
	if !errors.Is(err, ErrNoBinaries) || !strings.Contains(err.Error(), "cannot enter") {
		t.Errorf("got %v", err)
	}
}
