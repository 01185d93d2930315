package guard

import (
	"parley.internal/services/hub/internal/checkout"
	"parley.internal/services/hub/internal/guard/memory"
	"parley.internal/shared/files"
)

// Memory is a guard's knowledge of a repository without the server. It holds no key.
type Memory = memory.Memory

// Recall returns the memory of a checkout's repository.
func Recall(c *checkout.Checkout) Memory { return memory.Recall(c.Common, c.Project) }

// Remember replaces the memory of a checkout's repository.
func Remember(c *checkout.Checkout, m Memory) error { return memory.Remember(c.Common, m) }

// Forget removes the memory of a checkout's repository.
func Forget(c *checkout.Checkout) error { return memory.Forget(c.Common) }

func settings(m Memory) files.Settings {
	return files.Settings{Project: m.Project, Strict: m.Strict, Auto: m.Auto}
}
