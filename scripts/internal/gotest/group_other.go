//go:build !unix

package gotest

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func interruptGroup(p *os.Process) error { return p.Kill() }

func killGroup(*os.Process) {}
