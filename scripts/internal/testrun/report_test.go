package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hippofire/hippofire/internal/secret"
	"github.com/hippofire/hippofire/scripts/internal/gotest"
)

const pkg = modulePath + "/hippo"

func output(test, text string) gotest.Event {
	return gotest.Event{Action: "output", Package: pkg, Test: test, Output: text}
}

func ended(test, action string) gotest.Event {
	return gotest.Event{Action: action, Package: pkg, Test: test}
}

func TestReportSaysHowARunEnded(t *testing.T) {
	listed := map[testID]string{{pkg, "TestListed"}: "for a reason"}
	for _, tc := range []struct {
		name    string
		events  []gotest.Event
		runErr  error
		ok      bool
		want    []string
		notWant string
	}{
		{"all pass", []gotest.Event{
			output("TestA", "chatter\n"), ended("TestA/part", gotest.Pass), ended("TestA", gotest.Pass), ended("", gotest.Pass),
		}, nil, true, []string{"2 tests", "\n2 passed, 0 failed, 0 skipped\n"}, "chatter"},
		{"a failure in full, the rest not", []gotest.Event{
			output("TestA", "chatter\n"), ended("TestA", gotest.Pass),
			output("TestB", "got 1\n"), output("TestB", "want 2\n"), ended("TestB", gotest.Fail), ended("", gotest.Fail),
		}, errors.New("exit status 1"), false, []string{"got 1\nwant 2\n", "FAIL  hippo", "\n1 passed, 1 failed, 0 skipped\n"}, "chatter"},
		{"a package that does not build", []gotest.Event{
			{Action: "build-output", ImportPath: pkg, Output: "x.go:1: undefined\n"}, ended("", gotest.Fail),
		}, errors.New("exit status 1"), false, []string{"x.go:1: undefined\n", "\n0 passed, 1 failed, 0 skipped\n"}, ""},
		{"a package that ends outside its tests", []gotest.Event{
			ended("TestA", gotest.Pass), output("", "panic: in TestMain\n"), ended("", gotest.Fail),
		}, errors.New("exit status 1"), false, []string{"panic: in TestMain\n", "\n1 passed, 1 failed, 0 skipped\n"}, ""},
		{"a listed skip", []gotest.Event{
			ended("TestA", gotest.Pass), output("TestListed", "=== RUN   TestListed\n"), output("TestListed", "    a_test.go:3: why\n"),
			ended("TestListed", gotest.Skip), ended("", gotest.Pass),
		}, nil, true, []string{"skipped TestListed: a_test.go:3: why\n", "\n1 passed, 0 failed, 1 skipped\n"}, "may not skip"},
		{"another skip", []gotest.Event{ended("TestA", gotest.Pass), ended("TestOther", gotest.Skip), ended("", gotest.Pass)},
			nil, false, []string{"may not skip: hippo TestOther: no reason given\n", "\n1 passed, 0 failed, 1 skipped\n"}, ""},
		{"a log with a planted text", []gotest.Event{
			output("TestA", `{"message":"turn","name":"`+secret.Text("name")+"\"}\n"), ended("TestA", gotest.Pass), ended("", gotest.Pass),
		}, nil, false, []string{"is in a log, or a test printed it: hippo TestA: {\"message\":\"turn\"", "\n1 passed, 0 failed, 0 skipped\n"}, ""},
		{"nothing ran", []gotest.Event{ended("", gotest.Pass)}, nil, false, []string{"no test ran\n0 passed"}, ""},
		{"go test failed by itself", []gotest.Event{ended("TestA", gotest.Pass), ended("", gotest.Pass)},
			errors.New("exit status 2"), false, []string{"no test failed, but exit status 2\n"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			r := newReport(&out, listed)
			for _, e := range tc.events {
				r.take(e)
			}
			if ok := r.finish(tc.runErr); ok != tc.ok {
				t.Errorf("finish = %v, want %v", ok, tc.ok)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("printed\n%swithout %q", &out, want)
				}
			}
			if tc.notWant != "" && strings.Contains(out.String(), tc.notWant) {
				t.Errorf("printed\n%swith %q", &out, tc.notWant)
			}
		})
	}
}

func TestVerboseReportHasWhatPassingTestsSay(t *testing.T) {
	var out strings.Builder
	r := newReport(&out, nil)
	r.verbose = true
	r.take(output("TestA", "chatter\n"))
	r.take(ended("TestA", gotest.Pass))
	if out.String() != "chatter\n" {
		t.Errorf("printed %q", &out)
	}
}

func TestPackagesAreAddedOnlyWhereNoneIsNamed(t *testing.T) {
	for _, tc := range []struct {
		args []string
		all  bool
	}{
		{nil, true},
		{[]string{"-run", "TestX"}, true},
		{[]string{"-run", "TestX", "./hippo"}, false},
		{[]string{modulePath + "/hippo", "-v"}, false},
		{[]string{"."}, false},
	} {
		if got := slices.Contains(goTestArgs(tc.args), "./..."); got != tc.all {
			t.Errorf("%q: adds ./...: %v, want %v", tc.args, got, tc.all)
		}
	}
}
