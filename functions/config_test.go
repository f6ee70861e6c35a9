package functions_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"

	"github.com/hippofire/hippofire/episodewriter"
	"github.com/hippofire/hippofire/functions"
)

func TestWithoutSettingsTheTrustedSpeakersAreTheWritersOwn(t *testing.T) {
	config, err := functions.ConfigFromEnv(t.Context(), envconfig.MapLookuper(nil))
	if err != nil || !slices.Equal(config.Trusted, episodewriter.DefaultTrusted()) {
		t.Errorf("%q, error %v", config.Trusted, err)
	}
}

func TestEveryVariableIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	config := reflect.TypeFor[functions.Config]()
	for i := range config.NumField() {
		variable, rest, _ := strings.Cut(config.Field(i).Tag.Get("env"), ",")
		row := "| `" + variable + "` | "
		_, after, ok := strings.Cut(string(text), row)
		if !ok {
			t.Errorf("docs/configuration.md has no row for %s", variable)
			continue
		}
		if _, value, ok := strings.Cut(rest, "default="); ok && !strings.HasPrefix(after, "`"+value+"`") {
			t.Errorf("docs/configuration.md gives another default for %s than %s", variable, value)
		}
	}
}
