package secret_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hippofire/hippofire/internal/secret"
)

func TestPlantedTextIsFoundInEveryFormAndNothingElseIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		around := rapid.StringMatching(`[a-z/ ]{0,9}`)
		name := around.Draw(t, "before") + secret.Text("name") + around.Draw(t, "after")
		for _, form := range []string{name, strings.ToLower(name), base64.RawURLEncoding.EncodeToString([]byte(name)), base64.StdEncoding.EncodeToString([]byte(name))} {
			if secret.In(`{"message":"`+form+`"}`) == "" {
				t.Fatal("it is not found in one of its forms") // the form itself would be taken for a leak
			}
		}
	})
	for _, log := range []string{"", `{"message":"turn","tenant":"t"}`, base64.RawURLEncoding.EncodeToString([]byte("pages/Second Location"))} {
		if found := secret.In(log); found != "" {
			t.Errorf("%q is taken for planted", found)
		}
	}
}
