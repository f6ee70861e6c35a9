package emulator

import "syscall"

// endWithParent makes the kernel end the process when this one is gone, however
// it went.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
