package cluster

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// packageRoot is where the packages keep the server: bin, lib, share, and a
// list of the links that the package format cannot hold.
const (
	packageRoot = "package/native/"
	linkList    = "pg-symlinks.json"
)

// unpack writes the server's tree into dir, which must not exist. Nothing is
// written outside it, whatever names the archive holds.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("reading %s: %w", archive, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := writeTree(root, tar.NewReader(zip)); err != nil {
		return err
	}
	if err := openFolders(root); err != nil {
		return err
	}
	return writeLinks(root)
}

func writeTree(root *os.Root, entries *tar.Reader) error {
	for {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(entry.Name, packageRoot)
		if !ok || entry.Typeflag != tar.TypeReg {
			continue
		}
		if err := writeEntry(root, name, entry.FileInfo().Mode().Perm(), entries); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
}

func writeEntry(root *os.Root, name string, mode os.FileMode, content io.Reader) (err error) {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if strings.HasPrefix(name, "bin/") {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o755)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.Chmod(mode & 0o755); err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return err
}

// openFolders lets the server's account in, whatever our umask is.
func openFolders(root *os.Root) error {
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return root.Chmod(name, 0o755)
	})
}

// writeLinks makes the links of the package's list, each inside one folder or
// at least inside the tree.
func writeLinks(root *os.Root) error {
	b, err := root.ReadFile(linkList)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(b, &links); err != nil {
		return fmt.Errorf("reading %s: %w", linkList, err)
	}
	for _, link := range links {
		source, okSource := strings.CutPrefix(path.Clean(link.Source), "native/")
		target, okTarget := strings.CutPrefix(path.Clean(link.Target), "native/")
		if !okSource || !okTarget || path.Dir(source) != path.Dir(target) {
			return fmt.Errorf("%s: %q → %q leaves its folder", linkList, link.Target, link.Source)
		}
		if err := root.Symlink(path.Base(source), target); err != nil {
			return fmt.Errorf("linking %s: %w", target, err)
		}
	}
	return nil
}
