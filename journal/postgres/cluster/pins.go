package cluster

import (
	"fmt"
	"strconv"
	"strings"
)

// pinnedVersion is the PostgreSQL that is downloaded where none is installed.
const (
	pinnedVersion = "17.10"
	pinnedMajor   = 17
	pinnedRelease = "17.10.0-beta.17" // of the packages; the server in them is the final 17.10
)

// RegistryEnv names the environment variable for the address of the npm
// registry that serves the packages.
const RegistryEnv = "LANDED_POSTGRES_REGISTRY"

// build is one archive, known by its content.
type build struct {
	version string
	path    string // below the registry
	sum     string // SHA-256, hex
	size    int64
}

func (b build) major() int {
	head, _, _ := strings.Cut(b.version, ".")
	major, _ := strconv.Atoi(head)
	return major
}

// pinned returns the build for a platform. The sums were taken from the
// published archives after their SHA-512 matched the registry's integrity field.
func pinned(goos, goarch string) (build, bool) {
	name, sum, size := "", "", int64(0)
	switch goos + "/" + goarch {
	case "linux/amd64":
		name, sum, size = "linux-x64", "5bad48012c3a7415c06310f632ce9a0f9da20dadb70e774e4985c2f416a4445b", 23500205
	case "linux/arm64":
		name, sum, size = "linux-arm64", "c235902b8f75c94bcfa2f2071ef4e3c35e5410b93bed65b1f3a398aaa8ef880a", 22767514
	case "darwin/amd64":
		name, sum, size = "darwin-x64", "b87b4b4394fa00c249d5f87cf446e56a00901d3f11367318f9141ce0059afd24", 51141708
	case "darwin/arm64":
		name, sum, size = "darwin-arm64", "41fa2aa47ec3ae7c8692719881c6bdb8376365dd417673b37ffe8281f28f7064", 51141714
	default:
		return build{}, false
	}
	path := fmt.Sprintf("@embedded-postgres/%s/-/%s-%s.tgz", name, name, pinnedRelease)
	return build{version: pinnedVersion, path: path, sum: sum, size: size}, true
}
