//go:build !unix

package emulator

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// endGroup ends the process alone: it is the JVM itself, which starts no other.
func endGroup(p *os.Process, _ bool) { _ = p.Kill() }
