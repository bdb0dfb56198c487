package temporal_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
)

func TestMain(m *testing.M) {
	if v := os.Getenv(victimEnv); v != "" {
		if err := beVictim(v); err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	journaltest.Main(m)
}
