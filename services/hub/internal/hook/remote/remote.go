package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley.internal/services/hub/internal/hook"
	"parley.internal/shared/hook/wire"
)

// Hub is a server, as one key sees it.
type Hub struct {
	// URL is the base URL, without a path of an endpoint.
	URL string
	Key string
	// Client sends the requests; nil stands for one of its own, without redirects, which could take the key elsewhere.
	Client *http.Client
}

// Error is a refusal of the server, or an answer that is none of its.
type Error struct {
	Status        int
	Code, Message string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the server answered %d and nothing that Parley says; check the URL", e.Status)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Refused reports an answer that will be the same the next time: the key or the request is wrong.
func (e *Error) Refused() bool {
	return e.Status >= 400 && e.Status < 500 && e.Status != http.StatusConflict && e.Status != http.StatusTooManyRequests &&
		e.Status != http.StatusRequestTimeout
}

const maxAnswer = 1 << 20

var direct = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second},
}

// Hook sends one event of a session.
func (h *Hub) Hook(ctx context.Context, in wire.HookInput) (out wire.HookOutput, err error) {
	in.Version = wire.Version
	err = h.call(ctx, http.MethodPost, wire.Route, in, &out)
	if err == nil && out.SessionID == "" {
		err = &Error{Status: http.StatusOK}
	}
	return out, err
}

// Wait waits for a change of sessions.
func (h *Hub) Wait(ctx context.Context, in wire.WaitInput) (out wire.WaitOutput, err error) {
	in.Version = wire.Version
	err = h.call(ctx, http.MethodPost, wire.WaitRoute, in, &out)
	if err == nil && out.Version == 0 {
		err = &Error{Status: http.StatusOK}
	}
	return out, err
}

// Question is a question to the person.
type Question struct {
	Question  string   `json:"question"`
	Options   []string `json:"options,omitempty"`
	Context   string   `json:"context,omitempty"`
	Priority  string   `json:"priority,omitempty"`
	TTL       int64    `json:"ttl,omitempty"`
	WaitMs    int      `json:"waitMs,omitempty"`
	Assurance string   `json:"assurance,omitempty"`
	// Tell is false where the asker takes the answer by itself.
	Tell *bool `json:"tell,omitempty"`
}

// Answer is the state of a question.
type Answer struct {
	QuestionID string `json:"questionId"`
	// Status is pending, answered or expired.
	Status   string `json:"status"`
	Response string `json:"response"`
	By       string `json:"answeredBy"`
}

// Ask asks the person.
func (h *Hub) Ask(ctx context.Context, q Question) (a Answer, err error) {
	return a, h.call(ctx, http.MethodPost, "/v1/questions", q, &a)
}

// Response waits for the answer to a question.
func (h *Hub) Response(ctx context.Context, id string, wait time.Duration) (a Answer, err error) {
	path := fmt.Sprintf("/v1/questions/%s/response?waitMs=%d", url.PathEscape(id), wait.Milliseconds())
	return a, h.call(ctx, http.MethodGet, path, nil, &a)
}

// Withdraw takes a question back for a reason. An answer that was given before stands, and is returned.
func (h *Hub) Withdraw(ctx context.Context, id, reason string) (a Answer, err error) {
	in := map[string]string{"reason": reason}
	return a, h.call(ctx, http.MethodPost, "/v1/questions/"+url.PathEscape(id)+"/withdraw", in, &a)
}

// TakesBack withdraws the question of a permission request, by a word of [hook.Asked], and reports whether nothing is left to do:
// it is withdrawn, or the server refuses that for good.
func (h *Hub) TakesBack(ctx context.Context, word, reason string) bool {
	asked, ok := hook.ParseAsked(word)
	if !ok {
		return true
	}
	_, err := h.Withdraw(ctx, asked.Question, reason)
	var refusal *Error
	return err == nil || errors.As(err, &refusal) && refusal.Refused()
}

// Alert tells the person something that wants no answer.
func (h *Hub) Alert(ctx context.Context, message, session string) error {
	in := map[string]string{"message": message, "alertType": "warning", "sessionId": session}
	return h.call(ctx, http.MethodPost, "/v1/alerts", in, nil)
}

func (h *Hub) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(h.URL, "/")+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.Key)
	req.Header.Set("User-Agent", "parley-hook")
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	client := h.Client
	if client == nil {
		client = direct
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return err
	}
	return decode(res.StatusCode, text, out)
}

func decode(status int, text []byte, out any) error {
	var e struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	err := json.Unmarshal(text, &e)
	switch {
	case err != nil || !e.Success && e.Error == nil:
		return &Error{Status: status}
	case e.Error != nil:
		return &Error{status, e.Error.Code, e.Error.Message}
	case out == nil:
		return nil
	}
	if json.Unmarshal(e.Data, out) != nil {
		return &Error{Status: status}
	}
	return nil
}
