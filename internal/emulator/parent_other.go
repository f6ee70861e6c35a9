//go:build unix && !linux

package emulator

import "syscall"

// endWithParent does nothing: only Linux can do this. Stop has to be called.
func endWithParent(*syscall.SysProcAttr) {}
