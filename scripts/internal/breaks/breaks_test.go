package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository has one function, its test, and a patch for each way to end.
func repository(t *testing.T, patches map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26.0\n",
		"m.go":   "package m\n\nfunc two() int { return 2 }\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\n" +
			"func TestTwo(t *testing.T) {\n\tif two() != 2 {\n\t\tt.Error(\"not two\")\n\t}\n}\n\n" +
			"func TestNothing(t *testing.T) { two() }\n\n" +
			"func TestSkips(t *testing.T) { t.Skip() }\n",
	}
	for name, text := range patches {
		files[patchDir+"/"+name+".patch"] = text
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "init", "-q")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// instead is a patch that puts a line in the place of the function.
func instead(test, line string) string {
	return "invariant: I\nbreaks: two\ntest: ./ -run " + test + "\n\n" +
		"--- a/m.go\n+++ b/m.go\n@@ -1,3 +1,3 @@\n package m\n \n-func two() int { return 2 }\n+" + line + "\n"
}

func TestOnlyATestThatNoticesCounts(t *testing.T) {
	const three = "func two() int { return 3 }"
	cases := map[string]struct{ patch, want string }{
		"again":     {instead("^TestTwo$", "func two() int { return 4 }"), ""},
		"caught":    {instead("^TestTwo$", three), ""},
		"no-code":   {instead("^TestTwo$", "func two() int { return x }"), "does not compile"},
		"no-test":   {instead("^TestThree$", three), "there is no such test"},
		"outdated":  {strings.Replace(instead("^TestTwo$", three), "return 2", "return 1", 1), "does not apply"},
		"panics":    {instead("^TestTwo$", "func two() int { panic(1) }"), "panics"},
		"skipped":   {instead("^TestSkips$", three), "the test skips"},
		"unnoticed": {instead("^TestNothing$", three), "the test stays green"},
	}
	patches := map[string]string{}
	for name, tc := range cases {
		patches[name] = tc.patch
	}
	var out strings.Builder
	err := run(t.Context(), repository(t, patches), nil, &out)
	if err == nil || !strings.Contains(out.String(), "8 patches, 2 caught\n") {
		t.Errorf("error %v, want one, and 2 of 8 caught", err)
	}
	for name, tc := range cases {
		line := "red     " + name
		if tc.want != "" {
			line = "MISSED  " + name
		}
		_, after, found := strings.Cut(out.String(), line)
		_, why, _ := strings.Cut(after, "\n")
		if !found || !strings.HasPrefix(why, "        ") != (tc.want == "") || !strings.Contains(why, tc.want) {
			t.Errorf("no line %q with reason %q", line, tc.want)
		}
	}
	if t.Failed() {
		t.Logf("printed\n%s", &out)
	}
}

func TestPatchesAreChosenByName(t *testing.T) {
	dir := repository(t, map[string]string{"a": instead("^TestTwo$", ""), "b": instead("^TestTwo$", "")})
	for _, tc := range []struct {
		names []string
		want  int
	}{{nil, 2}, {[]string{"b"}, 1}, {[]string{"testdata/break/a.patch"}, 1}, {[]string{"b", "c"}, 0}} {
		patches, err := choose(dir, tc.names)
		if len(patches) != tc.want || (err == nil) != (tc.want > 0) {
			t.Errorf("%q: %d patches, %v; want %d", tc.names, len(patches), err, tc.want)
		}
	}
}

func TestHeaderIsComplete(t *testing.T) {
	const diff = "--- a/x\n"
	for _, tc := range []struct{ text, want string }{
		{"invariant: I1\nbreaks: x\ntest: ./p -run ^TestX$/a emulator\n\n" + diff, ""},
		{"# invariant: I1\n# breaks: x\n# test: ./p -run ^TestX$\n" + diff, ""},
		{"invariant: I1\ntest: ./p -run ^TestX$\n" + diff, "does not say all"},
		{"invariant: I1\nbreaks: x\ntest: ./p -run ^TestX$\n", "no diff"},
		{"invariant: I1\nbreaks: x\ntest: p -run ^TestX$\n" + diff, "is not of the form"},
		{"invariant: I1\nbreaks: x\ntest: ./p -run ^TestX$ emulators\n" + diff, "is not of the form"},
		{"invariant: I1\nbreaks: x\ntest: ./p -run ^Test(X$\n" + diff, "missing closing"},
		{"why: not\n" + diff, "it takes invariant, breaks and test"},
	} {
		_, err := parseHeader(tc.text)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestPatchNamesSubtests(t *testing.T) {
	p := patch{run: "^TestX$/^a"}
	for test, want := range map[string]bool{"TestX": false, "TestX/a_b": true, "TestX/a/c": true, "TestX/b": false, "TestXY/a": false} {
		if got := p.names(test); got != want {
			t.Errorf("%s: %v, want %v", test, got, want)
		}
	}
}

// Running them all takes long; that none is outdated is seen at once.
func TestEveryPatchAppliesToThisTree(t *testing.T) {
	const root = "../../.."
	patches, err := choose(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(t.Context(), root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.remove()
	for _, p := range patches {
		if said, err := b.apply(t.Context(), p, "--check"); err != nil {
			t.Errorf("%s does not apply: %s", p.name, said)
		}
	}
}
