package egress

import (
	"net/netip"
	"testing"
)

func TestClassifyAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, ip string
		want     addrKind
	}{
		{"public v4", "93.184.215.14", addrPublic},
		{"public v6", "2606:2800:21f:cb07:6820:80da:af6b:8b2c", addrPublic},
		{"loopback", "127.0.0.1", addrPrivate},
		{"loopback, not .1", "127.8.9.10", addrPrivate},
		{"loopback v6", "::1", addrPrivate},
		{"ten", "10.0.0.1", addrPrivate},
		{"172.16", "172.16.0.1", addrPrivate},
		{"172.31", "172.31.255.255", addrPrivate},
		{"172.32 is public", "172.32.0.1", addrPublic},
		{"192.168", "192.168.1.1", addrPrivate},
		{"CGNAT", "100.64.0.1", addrPrivate},
		{"above CGNAT", "100.128.0.1", addrPublic},
		{"unique local", "fd12:3456::1", addrPrivate},
		{"this host", "0.0.0.0", addrNever},
		{"unspecified v6", "::", addrNever},
		{"metadata", "169.254.169.254", addrNever},
		{"metadata v6", "fd00:ec2::254", addrNever},
		{"link-local v6", "fe80::1", addrNever},
		{"link-local v6 with zone", "fe80::1%eth0", addrNever},
		{"public with zone", "2606:2800::1%eth0", addrNever},
		{"site-local", "fec0::1", addrNever},
		{"multicast", "224.0.0.1", addrNever},
		{"multicast v6", "ff02::1", addrNever},
		{"broadcast", "255.255.255.255", addrNever},
		{"reserved", "240.0.0.1", addrNever},
		{"benchmark", "198.18.0.1", addrNever},
		{"documentation", "192.0.2.1", addrNever},
		{"documentation v6", "2001:db8::1", addrNever},
		{"Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", addrNever},
		{"discard", "100::1", addrNever},
		{"mapped loopback", "::ffff:127.0.0.1", addrPrivate},
		{"mapped metadata", "::ffff:169.254.169.254", addrNever},
		{"mapped public", "::ffff:93.184.215.14", addrPublic},
		{"NAT64 loopback", "64:ff9b::7f00:1", addrPrivate},
		{"NAT64 metadata", "64:ff9b::a9fe:a9fe", addrNever},
		{"NAT64 public", "64:ff9b::5db8:d70e", addrPublic},
		{"local NAT64", "64:ff9b:1::5db8:d70e", addrNever},
		{"6to4 private", "2002:a00:1::1", addrPrivate},
		{"6to4 metadata", "2002:a9fe:a9fe::1", addrNever},
		{"6to4 public", "2002:5db8:d70e::1", addrPublic},
		{"ISATAP private", "2606:2800::5efe:10.0.0.1", addrPrivate},
		{"compatible", "::7f00:1", addrNever},
		{"translated", "::ffff:0:127.0.0.1", addrNever},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := classify(netip.MustParseAddr(c.ip)); got != c.want {
				t.Errorf("classify(%s) = %d, want %d", c.ip, got, c.want)
			}
		})
	}
	if classify(netip.Addr{}) != addrNever {
		t.Error("the zero address must never be dialled")
	}
}

func FuzzMappedAddressIsNoWayRound(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{169, 254, 169, 254})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 4 {
			t.Skip()
		}
		v4 := netip.AddrFrom4([4]byte(b))
		want := classify(v4)
		mapped := netip.AddrFrom16(v4.As16())
		nat := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], 13: b[1], 14: b[2], 15: b[3]})
		to4 := netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3], 15: 1})
		for _, ip := range []netip.Addr{mapped, nat, to4} {
			if got := classify(ip); got != want {
				t.Errorf("%s classified %d, its inner address %s %d", ip, got, v4, want)
			}
		}
	})
}
