package hook

import "parley.internal/shared/op"

func hookCases() op.Cases { return op.Cases{} }
func waitCases() op.Cases { return op.Cases{} }
