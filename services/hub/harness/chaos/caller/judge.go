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

// verdict is what an answer means for its caller.
type verdict int

const (
	success verdict = iota
	again           // not done; it may be repeated
	unknown         // done or not; it may be repeated
	refused         // it may not be repeated as it is
)

// Refusal is a fault that no repetition helps against.
type Refusal struct {
	Op, Code, Message string
	Status            int
	// RequestID is the request's, ServedBy the hub that answered.
	RequestID, ServedBy string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s was refused by %s: %d %s: %s", r.Op, r.ServedBy, r.Status, r.Code, r.Message)
}

// judgement is an answer that was understood.
type judgement struct {
	verdict verdict
	// outcome is the name under which it is counted.
	outcome string
	data    json.RawMessage
	refusal *Refusal
	after   time.Duration // how long the server wants to be left alone
}

type wireError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// judgeREST reads what the client made of an answer over REST, with the answer's header.
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

// judgeBalancer reads an answer that the balancer gave in place of a server.
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

// judge reads an answer of the MCP endpoint, which refuses at its door as REST does. err is what ended the reading
// of it.
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

// judgeTool reads the answer to tools/call.
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

// faulted sorts the faults of both transports.
func faulted(res *http.Response, e wireError, after time.Duration, hasAfter bool) judgement {
	switch {
	case e.Code == fault.Conflict.Code():
		return judgement{verdict: again, outcome: e.Code, after: after}
	case e.Code == fault.Unavailable.Code():
		return judgement{verdict: unknown, outcome: e.Code, after: after}
	case e.Code == fault.Exhausted.Code() && hasAfter:
		return judgement{verdict: again, outcome: e.Code, after: after}
	}
	return refusal(res, e.Code, e.Message)
}

func refusal(res *http.Response, code, message string) judgement {
	r := &Refusal{Code: code, Message: message, Status: res.StatusCode, ServedBy: res.Header.Get(balancer.ServedBy)}
	return judgement{verdict: refused, outcome: code, refusal: r}
}

// garbled is an answer in no form that a server has: a refusal that nothing explains.
func garbled(res *http.Response, body []byte) judgement {
	return refusal(res, "garbled", fmt.Sprintf("%.300s", body))
}

// statusOf is the status that goes with a code, 0 for one that no kind has.
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

// maxBody is the longest answer that is read, in bytes.
const maxBody = 8 << 20

// read takes an answer in to its end.
func read(res *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	_ = res.Body.Close() // it was read to its end, or the error is told
	return body, err
}
