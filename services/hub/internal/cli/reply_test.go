package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"

	"go.uber.org/goleak"

	"parley.internal/services/hub/internal/rest"
)

// lasting are the goroutines that may outlive the tests: the connections that idle in a client's pool, and the
// emulator, which ends with this process.
var lasting = []goleak.Option{
	goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
	goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	goleak.IgnoreAnyFunction("parley.internal/shared/supervise.Command.Start.func1"),
	goleak.IgnoreAnyFunction("os/exec.(*Cmd).writerDescriptor.func1"), // its output
}

// reply is the answer of a server to a call, read to its end.
type reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// String returns the reply as a failed test shows it.
func (r reply) String() string { return fmt.Sprintf("%d %s", r.Status, r.Body) }

// Into decodes the data of a successful call into v.
func (r reply) Into(v any) error {
	if r.Data() == nil {
		return fmt.Errorf("no success: %s", r)
	}
	return json.Unmarshal(r.Data(), v)
}

// Data returns the data of a successful call, nil after a fault.
func (r reply) Data() json.RawMessage {
	var envelope struct{ Data json.RawMessage }
	_ = json.Unmarshal(r.Body, &envelope) // a body that is no envelope has no data
	return envelope.Data
}

// Fault returns the fault of a refused call, empty after a success.
func (r reply) Fault() rest.Error {
	var envelope struct{ Error rest.Error }
	_ = json.Unmarshal(r.Body, &envelope) // a body that is no envelope has no fault
	return envelope.Error
}

// message is a JSON-RPC request in the form of the older eras.
func message(id any, method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}
}
