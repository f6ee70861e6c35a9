package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestContractsThatAreNotUploadedStopTheDeployment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deploy.env")
	text := "HIPPOFIRE_PROJECT=my-project\nDEPLOY_LOCATION=nam5\nHIPPOFIRE_CONTRACTS=docs/contracts.example.yaml\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir("../../..")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"deploy", "--settings", file, "--dry-run"}, strings.NewReader(""), &out, &errs)
	if code != 1 || !strings.Contains(errs.String(), "HIPPOFIRE_CONTRACTS: docs/contracts.example.yaml is not uploaded") {
		t.Errorf("it ended with %d: %s", code, &errs)
	}
}

func TestSettingsThatWouldNotDoAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		more map[string]string
		says string
	}{
		"no project":              {map[string]string{"HIPPOFIRE_PROJECT": ""}, "HIPPOFIRE_PROJECT"},
		"no location":             {map[string]string{"DEPLOY_LOCATION": ""}, "DEPLOY_LOCATION"},
		"a misspelt name":         {map[string]string{"DEPLOY_REGON": "x"}, "DEPLOY_REGON"},
		"a setting for tests":     {map[string]string{"HIPPOFIRE_TEST_NO_RECONCILE": "true"}, "HIPPOFIRE_TEST_NO_RECONCILE"},
		"a function in regions":   {map[string]string{"DEPLOY_REGION": "eur3"}, "one, such as europe-west1"},
		"everybody may call":      {map[string]string{"DEPLOY_INVOKERS": "allUsers"}, "allUsers"},
		"a path of no memory":     {map[string]string{"HIPPOFIRE_MEMORY_PATH": "x/{memory}"}, "HIPPOFIRE_MEMORY_PATH"},
		"a long prefix":           {map[string]string{"DEPLOY_PREFIX": "hippofire-production"}, "DEPLOY_PREFIX"},
		"an injection":            {map[string]string{"HIPPOFIRE_DATABASE": "x; rm -rf /"}, "HIPPOFIRE_DATABASE"},
		"no file of contracts":    {map[string]string{"HIPPOFIRE_CONTRACTS": "nowhere.yaml"}, "HIPPOFIRE_CONTRACTS"},
		"a file of no contracts":  {map[string]string{"HIPPOFIRE_CONTRACTS": "deploy_test.go"}, "HIPPOFIRE_CONTRACTS"},
		"no instance of the hook": {map[string]string{"DEPLOY_HOOK_MAX_INSTANCES": "0"}, "DEPLOY_HOOK_MAX_INSTANCES"},
	} {
		values := maps.Clone(someValues)
		maps.Copy(values, c.more)
		if _, err := newSettings(t.Context(), values); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.says)
		}
	}
}

func TestTheExampleDescribesEverySettingWithItsDefault(t *testing.T) {
	file, err := os.ReadFile("../../../deploy.example.env")
	if err != nil {
		t.Fatal(err)
	}
	values, err := parseEnv(string(file))
	if err != nil {
		t.Fatal(err)
	}
	of := reflect.TypeFor[Settings]()
	for i := range of.NumField() {
		tag := of.Field(i).Tag.Get("env")
		if tag == "" {
			continue
		}
		name, rest, _ := strings.Cut(tag, ",")
		value, ok := values[name]
		if _, standard, _ := strings.Cut(rest, "default="); !ok || value != standard {
			t.Errorf("deploy.example.env gives %s as %q (there: %t), the default is %q", name, value, ok, standard)
		}
	}
	values["HIPPOFIRE_PROJECT"], values["DEPLOY_LOCATION"] = "my-project", "nam5"
	if _, err := newSettings(t.Context(), values); err != nil {
		t.Errorf("filled in, it is refused: %v", err)
	}
}
