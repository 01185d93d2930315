package caller

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley.internal/services/hub/harness/chaos/balancer"
	"parley.internal/shared/client"
	"parley.internal/shared/fault"
)

// verdict is the consequence of an answer for its caller.
type verdict int

const (
	success verdict = iota
	again           // not executed; the call may be repeated
	unknown         // executed or not; the call may be repeated
	refused         // the call must not be repeated
)

// Refusal is a fault after which repeating the call cannot help.
type Refusal struct {
	Op, Code, Message string
	Status            int
	// RequestID is the id of the request, ServedBy the name of the hub that answered.
	RequestID, ServedBy string
}

// Error names the operation, the hub that refused it, and the status, code and message of its answer.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s was refused by %s: %d %s: %s", r.Op, r.ServedBy, r.Status, r.Code, r.Message)
}

// judgement is the interpretation of an answer.
type judgement struct {
	verdict verdict
	// outcome is the name under which the attempt is counted.
	outcome string
	data    json.RawMessage
	refusal *Refusal
	after   time.Duration // the server's Retry-After, 0 for none
}

type wireError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// judgeREST judges the client's error for an answer over REST with that header.
func judgeREST(e *client.Error, header http.Header) judgement {
	res := &http.Response{StatusCode: e.Status, Header: header}
	if e.Status == 0 {
		return judgement{verdict: unknown, outcome: "no answer"}
	}
	if j, ours := judgeBalancer(res); ours {
		return j
	}
	if e.Code == "" || statusOf(e.Code) != e.Status {
		text := e.Body
		if text == nil {
			text = []byte(e.Error())
		}
		return garbled(res, text)
	}
	after := e.Fault.RetryAfter
	return faulted(res, wireError{e.Code, e.Fault.Message}, after, after > 0)
}

// judgeBalancer judges an answer that the balancer gave in place of a server.
func judgeBalancer(res *http.Response) (j judgement, ours bool) {
	switch {
	case res.Header.Get(balancer.Header) == "":
		return j, false
	case res.StatusCode == http.StatusServiceUnavailable:
		return judgement{verdict: again, outcome: "503 balancer"}, true
	case res.StatusCode == http.StatusBadGateway:
		return judgement{verdict: unknown, outcome: "502 balancer"}, true
	}
	return j, false
}

// judge judges an answer of the MCP endpoint. Before a request reaches the protocol, the endpoint refuses it in the form
// of REST. err is the error of the request or of reading its answer.
func judge(res *http.Response, body []byte, err error) judgement {
	if err != nil || res == nil {
		return judgement{verdict: unknown, outcome: "no answer"}
	}
	if j, ours := judgeBalancer(res); ours {
		return j
	}
	if res.StatusCode == http.StatusOK {
		return judgeTool(res, body)
	}
	var e struct {
		Error *wireError `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || e.Error == nil || res.StatusCode != statusOf(e.Error.Code) {
		return garbled(res, body)
	}
	after, hasAfter := seconds(res.Header.Get("Retry-After"))
	return faulted(res, *e.Error, after, hasAfter)
}

// judgeTool judges the answer to tools/call.
func judgeTool(res *http.Response, body []byte) judgement {
	var m struct {
		Result *struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
		Error json.RawMessage
	}
	if json.Unmarshal(body, &m) != nil || m.Result == nil || m.Error != nil || m.Result.StructuredContent == nil {
		return garbled(res, body)
	}
	if !m.Result.IsError {
		return judgement{verdict: success, outcome: "ok", data: m.Result.StructuredContent}
	}
	var e struct{ Error *wireError }
	if json.Unmarshal(m.Result.StructuredContent, &e) != nil || e.Error == nil || len(m.Result.Content) == 0 {
		return garbled(res, body)
	}
	_, hint, _ := strings.Cut(m.Result.Content[0].Text, "(try again after ")
	hint, _, _ = strings.Cut(hint, " ")
	after, hasAfter := seconds(hint)
	return faulted(res, *e.Error, after, hasAfter)
}

// faulted judges a fault of either transport.
func faulted(res *http.Response, e wireError, after time.Duration, hasAfter bool) judgement {
	switch {
	case e.Code == fault.Conflict.Code(), e.Code == fault.Unavailable.Code():
		return judgement{verdict: again, outcome: e.Code, after: after}
	case e.Code == fault.OutcomeUnknown.Code():
		return judgement{verdict: unknown, outcome: e.Code, after: after}
	case e.Code == fault.Exhausted.Code() && hasAfter:
		return judgement{verdict: again, outcome: e.Code, after: after}
	}
	return refusal(res, e.Code, e.Message)
}

// refusal judges an answer as a refusal.
func refusal(res *http.Response, code, message string) judgement {
	r := &Refusal{Code: code, Message: message, Status: res.StatusCode, ServedBy: res.Header.Get(balancer.ServedBy)}
	return judgement{verdict: refused, outcome: code, refusal: r}
}

// garbled judges an answer in a form that no server sends.
func garbled(res *http.Response, body []byte) judgement {
	return refusal(res, "garbled", fmt.Sprintf("%.300s", body))
}

// statusOf returns the HTTP status of a fault's code, 0 for an unknown code.
func statusOf(code string) int {
	if kind, known := fault.ParseCode(code); known {
		return kind.HTTP()
	}
	return 0
}

func seconds(text string) (time.Duration, bool) {
	n, err := strconv.Atoi(text)
	return time.Duration(n) * time.Second, err == nil && n > 0
}

// maxBody is the maximum size of an answer, in bytes.
const maxBody = 8 << 20

// read reads the body of an answer and closes it.
func read(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	_ = res.Body.Close() // the error of reading is returned
	return body, err
}
