package importer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hippofire/hippofire/functions"
	"github.com/hippofire/hippofire/hippo"
)

// line is one line of a transcript.
type line struct {
	Tenant    string `json:"tenant"`
	Thread    string `json:"thread"`
	ID        string `json:"id"`
	Role      string `json:"role"`
	Content   string `json:"content"`
	CreatedAt string `json:"created_at"`
	Speaker   string `json:"speaker"`
}

// Where a line belongs that does not say.
const (
	DefaultTenant = "imported"
	DefaultThread = "imported"
)

// maxLine bounds a line of a transcript, in bytes.
const maxLine = 2 * hippo.MaxMessageBytes

// Messages imports a transcript: JSON Lines with role, content and created_at,
// and optionally tenant, thread, id and speaker. A message without an id gets one
// made of what it says, so that a second import finds it. An error names the line;
// the lines before it are imported.
func Messages(ctx context.Context, to Backend, r io.Reader, progress func(lines int)) (Summary, error) {
	var sum Summary
	var run []functions.Message
	var at line
	seen := make(map[string]int)
	flush := func() error {
		err := sum.save(ctx, to, at.Tenant, at.Thread, run)
		run = run[:0]
		return err
	}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	n := 0
	for scanner.Scan() {
		n++
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		l, err := readLine(scanner.Bytes(), seen)
		if err != nil {
			return sum, errors.Join(fmt.Errorf("line %d: %w", n, err), flush())
		}
		if l.Tenant != at.Tenant || l.Thread != at.Thread || len(run) == hippo.MaxMessages {
			if err := flush(); err != nil {
				return sum, fmt.Errorf("before line %d: %w", n, err)
			}
			progress(n)
		}
		at = l
		run = append(run, functions.Message{ID: l.ID, Role: l.Role, Content: l.Content, CreatedAt: l.CreatedAt, Speaker: l.Speaker})
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = hippo.Errorf(hippo.TooLarge, "", "is longer than %d bytes", maxLine)
		}
		return sum, errors.Join(fmt.Errorf("line %d: %w", n+1, err), flush())
	}
	err := flush()
	progress(n)
	return sum, err
}

func readLine(text []byte, seen map[string]int) (line, error) {
	l := line{Tenant: DefaultTenant, Thread: DefaultThread}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return l, hippo.Wrap(hippo.Invalid, err, "is no JSON object of a message")
	}
	if l.CreatedAt == "" {
		return l, hippo.Errorf(hippo.Invalid, "created_at", "is missing")
	}
	if l.ID == "" {
		key := fmt.Sprintf("%q %q %q %q %q", l.Tenant, l.Thread, l.Role, l.CreatedAt, l.Content)
		seen[key]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", key, seen[key]))
		l.ID = hex.EncodeToString(sum[:12])
	}
	return l, l.check()
}

// check holds a line to the rules of the function it will be sent to, so that
// the error names the line and not a run of them.
func (l line) check() error {
	if _, _, err := hippo.ThreadOf(l.Tenant, l.Thread); err != nil {
		return err
	}
	at, err := hippo.ParseCreatedAt(l.CreatedAt)
	if err != nil {
		return hippo.InField(err, "created_at")
	}
	return hippo.Message{ID: hippo.MessageID(l.ID), Role: hippo.Role(l.Role), Content: l.Content, Speaker: l.Speaker, CreatedAt: at}.Check()
}
