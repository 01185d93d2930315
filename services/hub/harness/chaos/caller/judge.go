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

// judge reads an answer of either transport. err is what ended the reading of it.
func judge(mcp bool, res *http.Response, body []byte, err error) judgement {
	switch {
	case err != nil || res == nil:
		return judgement{verdict: unknown, outcome: "no answer"}
	case res.Header.Get(balancer.Header) != "" && res.StatusCode == http.StatusServiceUnavailable:
		return judgement{verdict: again, outcome: "503 balancer"}
	case res.Header.Get(balancer.Header) != "" && res.StatusCode == http.StatusBadGateway:
		return judgement{verdict: unknown, outcome: "502 balancer"}
	}
	if mcp && res.StatusCode == http.StatusOK {
		return judgeTool(res, body)
	}
	var e struct {
		Success *bool           `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   *wireError      `json:"error"`
	}
	switch {
	case json.Unmarshal(body, &e) != nil || e.Success == nil:
		return garbled(res, body)
	case *e.Success && e.Data != nil && e.Error == nil && (res.StatusCode == http.StatusOK || res.StatusCode == http.StatusCreated):
		return judgement{verdict: success, outcome: "ok", data: e.Data}
	case !*e.Success && e.Error != nil && res.StatusCode == statusOf(e.Error.Code):
		after, hasAfter := seconds(res.Header.Get("Retry-After"))
		return faulted(res, *e.Error, after, hasAfter)
	}
	return garbled(res, body)
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

func statusOf(code string) int {
	for _, k := range fault.Kinds() {
		if k.Code() == code {
			return k.HTTP()
		}
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
