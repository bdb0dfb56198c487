package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// account is the operating-system user that the server runs as.
type account struct {
	name     string
	uid, gid int
	drop     bool // we are root: children change to this account
}

// unowned is the owner given to chooseAccount when there are no data yet.
const unowned = -1

// chooseAccount returns who runs the server: ourselves, or as root the owner of
// the existing data, else postgres, else nobody. The account must have a name:
// initdb and peer authentication both refuse a bare number.
func chooseAccount(owner int) (account, error) {
	if euid := os.Geteuid(); euid != 0 {
		if owner != unowned && owner != euid {
			return account{}, fmt.Errorf("the data belong to user %s, this process runs as %s: run as the owner, or use another directory", userName(owner), userName(euid))
		}
		return lookupAccount(strconv.Itoa(euid), user.LookupId)
	}
	if owner == 0 {
		return account{}, fmt.Errorf("the data belong to root, and Postgres does not run as root: give them to the user postgres (chown -R)")
	}
	if owner != unowned {
		acc, err := lookupAccount(strconv.Itoa(owner), user.LookupId)
		acc.drop = true
		return acc, err
	}
	for _, name := range []string{"postgres", "nobody"} {
		if acc, err := lookupAccount(name, user.Lookup); err == nil && acc.uid != 0 {
			acc.drop = true
			return acc, nil
		}
	}
	return account{}, fmt.Errorf("neither user postgres nor user nobody exists: Postgres does not run as root, so start as an ordinary user")
}

func lookupAccount(who string, lookup func(string) (*user.User, error)) (account, error) {
	u, err := lookup(who)
	if err != nil {
		return account{}, fmt.Errorf("user %s has no entry in the user database, which Postgres needs: %w", who, err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return account{}, fmt.Errorf("user %s has no numeric id: %w", who, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return account{}, fmt.Errorf("user %s has no numeric group: %w", who, err)
	}
	return account{name: u.Username, uid: uid, gid: gid}, nil
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// admitted lists the users whom the ident map lets in: root, who could become
// anyone, ourselves, and the server's account, which can read the files anyway.
func (a account) admitted() []string {
	names := []string{"root"}
	for _, name := range []string{userName(os.Geteuid()), a.name} {
		if name != names[len(names)-1] && name != "root" {
			names = append(names, name)
		}
	}
	return names
}

// give makes path the account's own. Without root it already is. A link is not
// followed: the folder around it may belong to someone else.
func (a account) give(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// reaches reports whether the account may enter dir: nothing below a closed
// home directory works for another user. Permission bits only; access lists
// are not asked.
func (a account) reaches(dir string) bool {
	if !a.drop {
		return true
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(real)
		if err != nil || !a.enters(info) {
			return false
		}
		parent := filepath.Dir(real)
		if parent == real {
			return true
		}
		real = parent
	}
}

func (a account) enters(info fs.FileInfo) bool {
	uid, gid := ownerOf(info)
	mode := info.Mode().Perm()
	switch {
	case uid == a.uid:
		return mode&0o100 != 0
	case gid == a.gid:
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}
