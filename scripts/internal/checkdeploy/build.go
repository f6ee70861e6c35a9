package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// sourceDir and mainDir are the folders to which the buildpack moves the
	// upload and in which it writes its own program.
	sourceDir = "serverless_function_source_code"
	mainDir   = "functions.local/app"

	framework = "github.com/GoogleCloudPlatform/functions-framework-go"
)

// inspect looks at the upload as the buildpack does, and returns the module's
// path. The buildpack takes the package at the root and no other; it knows by an
// import there that functions register themselves, and looks for a function of
// the deployed name in that package where it is missing.
func inspect(ctx context.Context, source string) (string, error) {
	imports, err := rootImports(source)
	if err != nil {
		return "", err
	}
	module, err := output(ctx, source, "go", "list", "-m")
	if err != nil {
		return "", err
	}
	if first, _, _ := strings.Cut(module, "/"); !strings.Contains(first, ".") {
		return "", fmt.Errorf("the first element of the module path %q has no dot", module)
	}
	for _, needed := range []string{framework + "/functions", module + "/functions"} {
		if !slices.Contains(imports, needed) {
			return "", fmt.Errorf("the package at the root does not import %s", needed)
		}
	}
	return module, nil
}

// rootImports reads every .go file at the root, whatever its build tags.
func rootImports(source string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return nil, err
	}
	var name string
	var imports []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		if name != "" && parsed.Name.Name != name {
			return nil, fmt.Errorf("two packages at the root: %s and %s (in %s)", name, parsed.Name.Name, filepath.Base(file))
		}
		name = parsed.Name.Name
		for _, spec := range parsed.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			imports = append(imports, path)
		}
	}
	switch name {
	case "":
		return nil, errors.New("there is no Go package at the root")
	case "main":
		return nil, errors.New("the package at the root is main, which cannot be imported")
	}
	return imports, nil
}

// program is what the buildpack makes of a package whose functions register
// themselves, but that this one listens on this machine alone.
const program = `package main

import (
	"log"
	"os"

	"%s/funcframework"

	_ "%s"
)

func main() {
	log.Fatal(funcframework.StartHostPort("127.0.0.1", os.Getenv("PORT")))
}
`

// build writes the program, tidies the module for it and builds it.
func build(ctx context.Context, source, module, binary string) error {
	dir := filepath.Join(source, mainDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text := fmt.Sprintf(program, framework, module)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o644); err != nil {
		return err
	}
	if _, err := output(ctx, source, "go", "mod", "tidy"); err != nil {
		return err
	}
	_, err := output(ctx, source, "go", "build", "-o", binary, "./"+mainDir)
	return err
}

// output runs a command and returns what it prints; its error has what it
// complained of.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
