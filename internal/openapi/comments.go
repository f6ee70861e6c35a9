package openapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

const module = "github.com/hippofire/hippofire"

// comments are what the source says of types and their fields.
type comments struct {
	// docs are by package, type and field, such as "hippo.Message.ID".
	docs map[string]string
	// consts are the values of string constants by package and type.
	consts map[string][]string
	// methods are the comments of the App's methods by name.
	methods map[string]string
}

// readComments reads the packages of the module at root that are no commands and
// not internal.
func readComments(root string) (comments, error) {
	c := comments{docs: map[string]string{}, consts: map[string][]string{}, methods: map[string]string{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "internal" || name == "testdata" || name == "cmd" || name == "scripts"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		c.read(filepath.ToSlash(dir), file)
		return err
	})
	return c, err
}

func (c comments) read(pkg string, file *ast.File) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && pkg == "functions" {
				c.methods[d.Name.Name] = sentence(d.Name.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					c.readType(pkg, d.Doc, s)
				case *ast.ValueSpec:
					c.readConst(pkg, d.Tok, s)
				}
			}
		}
	}
}

func (c comments) readType(pkg string, doc *ast.CommentGroup, s *ast.TypeSpec) {
	key := pkg + "." + s.Name.Name
	if s.Doc != nil {
		doc = s.Doc
	}
	c.docs[key] = sentence(s.Name.Name, doc)
	of, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range of.Fields.List {
		for _, name := range f.Names {
			c.docs[key+"."+name.Name] = sentence(name.Name, f.Doc)
		}
	}
}

func (c comments) readConst(pkg string, tok token.Token, s *ast.ValueSpec) {
	of, typed := s.Type.(*ast.Ident)
	if tok != token.CONST || !typed {
		return
	}
	for _, value := range s.Values {
		if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				key := pkg + "." + of.Name
				c.consts[key] = append(c.consts[key], text)
			}
		}
	}
}

// sentence is a comment in one line, without the name that it begins with.
func sentence(name string, doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	for _, verb := range []string{" is ", " are ", " "} {
		if rest, ok := strings.CutPrefix(text, name+verb); ok && rest != "" {
			return strings.ToUpper(rest[:1]) + rest[1:]
		}
	}
	return text
}

// of is what is said of a type, or of a field of it.
func (c comments) of(t reflect.Type, field string) string {
	key := packageOf(t) + "." + t.Name()
	if field != "" {
		key += "." + field
	}
	return c.docs[key]
}

// values are the constants of a type of text that has more than one.
func (c comments) values(t reflect.Type) []string {
	if values := c.consts[packageOf(t)+"."+t.Name()]; len(values) > 1 {
		return values
	}
	return nil
}
