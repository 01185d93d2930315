package hubtest_test

import (
	"testing"

	"parley.internal/services/hub/harness/hubtest"
)

func TestMain(m *testing.M) { hubtest.Main(m) }

type args = map[string]any

// everything is the endpoint that serves all toolsets.
const everything = "/mcp?toolsets=all"
