package storetest

import (
	"slices"
	"testing"

	"github.com/hippofire/hippofire/hippo"
)

// testCase is one sentence of the contract, or a few that need each other.
type testCase struct {
	name string
	run  func(f *fixture)
}

func allCases() []testCase {
	return slices.Concat(
		memoryCases, scanCases, tenantCases,
		entryCases, generationCases, indexReadCases,
		messageCases, episodeCases, passCases, passRefusalCases,
		ownershipCases, forgetCases,
	)
}

// runCases runs every case on a tenant of its own. Cases about the meter are
// left out where transactions run twice, since a lost attempt is billed as well.
func runCases(t *testing.T, h Harness, store hippo.Store, layout hippo.Layout, twice bool) {
	t.Helper()
	cases := allCases()
	if !twice {
		cases = slices.Concat(cases, meterCases)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newFixture(t, h, store, layout))
		})
	}
}
