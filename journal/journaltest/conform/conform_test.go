package conform_test

import (
	"testing"

	"github.com/landedhq/landed/journal/journaltest"
	"github.com/landedhq/landed/journal/journaltest/conform"
	"github.com/landedhq/landed/journal/postgres"
)

func TestMain(m *testing.M) { journaltest.Main(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	conform.Run(t, func(_ *testing.T, s *postgres.Store) conform.Journal { return s })
}
