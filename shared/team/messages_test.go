package team

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

func (w *world) send(c identity.Caller, in SendInput) SendOutput {
	w.t.Helper()
	in.TeamName = "core"
	return domaintest.Must(w.Send(w.t.Context(), c, in))(w.t)
}

func TestAnIncompleteMessageIsRefusedWithItsMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		for name, tc := range map[string]struct {
			in    SendInput
			kind  fault.Kind
			words string
		}{
			"no content": {SendInput{Type: "message", Summary: "s", Recipient: "ann"}, fault.Invalid,
				"Message content must not be empty"},
			"no summary": {SendInput{Type: "message", Content: "c", Recipient: "ann"}, fault.Invalid,
				"Message summary must not be empty"},
			"no recipient": {SendInput{Type: "message", Content: "c", Summary: "s"}, fault.Invalid,
				"Message recipient must not be empty"},
			"nothing at all": {SendInput{Type: "message"}, fault.Invalid,
				"Message content must not be empty"},
			"a stranger": {SendInput{Type: "message", Content: "c", Summary: "s", Recipient: "eve"},
				fault.NotFound, "Recipient eve is not a member of team core"},
			"a broadcast, no summary": {SendInput{Type: "broadcast", Content: "c"}, fault.Invalid,
				"Broadcast summary must not be empty"},
			"a shutdown of nobody": {SendInput{Type: "shutdown_request"}, fault.Invalid,
				"Shutdown request recipient must not be empty"},
			"a shutdown of the lead": {SendInput{Type: "shutdown_request", Recipient: Lead}, fault.Invalid,
				"Cannot send shutdown request to team-lead"},
			"a shutdown of a stranger": {SendInput{Type: "shutdown_request", Recipient: "eve"}, fault.NotFound,
				"Recipient eve is not a member of team core"},
			"a plan of nobody": {SendInput{Type: "plan_approval_response"}, fault.Invalid,
				"Plan approval recipient must not be empty"},
			"a plan of a stranger": {SendInput{Type: "plan_approval_response", Recipient: "eve"}, fault.NotFound,
				"Recipient eve is not a member of team core"},
			"a response of the lead": {SendInput{Type: "shutdown_response", Approve: true}, fault.NotFound,
				"Teammate team-lead not found in team core"},
			"an unknown type": {SendInput{Type: "shout", Content: "c"}, fault.Invalid,
				"Unknown message type: shout"},
			"no type": {SendInput{}, fault.Invalid, "Unknown message type: "},
			"the system's name as sender": {SendInput{Type: "broadcast", Summary: "s", Sender: "parley"},
				fault.Forbidden, `"parley" is reserved for messages of the system itself; name another sender`},
		} {
			tc.in.TeamName = "core"
			_, err := w.Send(t.Context(), human, tc.in)
			if !fault.Is(err, tc.kind) || err.Error() != tc.words {
				t.Errorf("%s: %v %q", name, fault.Of(err), err)
			}
		}
		_, err := w.Send(t.Context(), human, SendInput{TeamName: "none", Type: "broadcast", Summary: "s"})
		says(t, err, fault.NotFound, "Team none does not exist")
		if got := append(w.inbox("core", "ann"), w.inbox("core", Lead)...); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestEveryTypeOfMessageHasTheShapeOfTheFileFormat(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob")
		for name, tc := range map[string]struct {
			by      identity.Caller
			in      SendInput
			to      string
			message string // as JSON, without id, timestamp and read
			out     string
		}{
			"a message": {alpha, SendInput{Type: "message", Recipient: "ann", Content: "go <on>", Summary: "on"}, "ann",
				`{"from":"team-lead","text":"go <on>","summary":"on"}`,
				`{"success":true,"message":"Message sent to ann","routing":{"sender":"team-lead","target":"ann",` +
					`"targetColor":"blue","summary":"on","content":"go <on>"}}`},
			"a message to the lead": {domaintest.Bound("u", "bob"),
				SendInput{Type: "message", Recipient: Lead, Content: "c", Summary: "s"}, Lead,
				`{"from":"bob","text":"c","summary":"s","color":"green"}`,
				`{"success":true,"message":"Message sent to team-lead","routing":{"sender":"bob",` +
					`"target":"team-lead","targetColor":"white","summary":"s","content":"c"}}`},
			"a shutdown request": {alpha, SendInput{Type: "shutdown_request", Recipient: "ann", Content: "all done"},
				"ann",
				`{"from":"team-lead","text":"{\"type\":\"shutdown_request\",` +
					`\"requestId\":\"shutdown-1772366400000@ann\",\"from\":\"team-lead\",\"reason\":\"all done\",` +
					`\"timestamp\":\"2026-03-01T12:00:00.000Z\"}"}`,
				`{"success":true,"message":"Shutdown request sent to ann",` +
					`"request_id":"shutdown-1772366400000@ann","target":"ann"}`},
			"a shutdown approved": {domaintest.Bound("u", "ann"),
				SendInput{Type: "shutdown_response", RequestID: "r", Approve: true}, Lead,
				`{"from":"ann","text":"{\"type\":\"shutdown_approved\",\"requestId\":\"r\",\"from\":\"ann\",` +
					`\"timestamp\":\"2026-03-01T12:00:00.000Z\",\"paneId\":\"\",\"backendType\":\"external\"}",` +
					`"color":"blue"}`,
				`{"success":true,"message":"Shutdown approved by ann. process_shutdown_approved ends its ` +
					`process.","request_id":"r","target":"team-lead"}`},
			"a shutdown refused": {domaintest.Bound("u", "ann"),
				SendInput{Type: "shutdown_response", Content: "not yet"}, Lead,
				`{"from":"ann","text":"not yet","summary":"shutdown_rejected","color":"blue"}`, ""},
			"a shutdown refused wordless": {domaintest.Bound("u", "ann"), SendInput{Type: "shutdown_response"}, Lead,
				`{"from":"ann","text":"Shutdown rejected","summary":"shutdown_rejected","color":"blue"}`, ""},
			"a plan approved": {alpha, SendInput{Type: "plan_approval_response", Recipient: "ann",
				Approve: true, Content: "ignored"}, "ann",
				`{"from":"team-lead","text":"{\"type\":\"plan_approval\",\"approved\":true}","summary":"plan_approved"}`, ""},
			"a plan refused": {alpha, SendInput{Type: "plan_approval_response", Recipient: "ann",
				Content: "smaller"}, "ann", `{"from":"team-lead","text":"smaller","summary":"plan_rejected"}`, ""},
			"a plan refused wordless": {alpha, SendInput{Type: "plan_approval_response", Recipient: "ann"}, "ann",
				`{"from":"team-lead","text":"Plan rejected","summary":"plan_rejected"}`, ""},
		} {
			out := w.send(tc.by, tc.in)
			m := w.last("core", tc.to)
			if m.Timestamp != "2026-03-01T12:00:00.000Z" || m.Read {
				t.Errorf("%s: %+v", name, m)
			}
			got := asJSON(t, map[string]any{"from": m.From, "text": m.Text, "summary": m.Summary, "color": m.Color})
			want := tc.message
			for _, f := range []string{"summary", "color"} {
				if !strings.Contains(want, `"`+f+`"`) {
					value := ""
					if f == "color" { // the messages of teammates name theirs
						value = leadColor
					}
					want = strings.TrimSuffix(want, "}") + `,"` + f + `":"` + value + `"}`
				}
			}
			if !sameJSON(t, got, want) {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
			if tc.out != "" && !sameJSON(t, asJSON(t, out), tc.out) {
				t.Errorf("%s: %s", name, asJSON(t, out))
			}
		}
	})
}

func TestABroadcastGoesToAllButItsSender(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob")
		out := w.send(domaintest.Bound("u", "ann"), SendInput{Type: "broadcast", Summary: "s", Content: "hear"})
		if out.Message != "Broadcast sent to 2 member(s)" || !slices.Equal(out.Recipients, []string{Lead, "bob"}) {
			t.Errorf("%+v", out)
		}
		for name, n := range map[string]int{Lead: 1, "ann": 1, "bob": 2} {
			if got := w.inbox("core", name); len(got) != n {
				t.Errorf("%s: %+v", name, got)
			}
		}
		w.send(alpha, SendInput{Type: "broadcast", Summary: "s"})
		if m := w.last("core", "bob"); m.From != Lead || m.Text != "" || len(w.inbox("core", Lead)) != 1 {
			t.Errorf("%+v", m)
		}
		w.teamOfBeta("alone")
		if out, err := w.Send(t.Context(), beta, SendInput{TeamName: "alone", Type: "broadcast",
			Summary: "s"}); err != nil || len(out.Recipients) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func (w *world) teamOfBeta(name string) {
	w.t.Helper()
	domaintest.Must(w.Create(w.t.Context(), beta, CreateInput{TeamName: name}))(w.t)
}

func TestABoundKeySpeaksAndReadsAsItsProgramOnly(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann", "bob")
		for said, want := range map[string]string{"": "ann", "ann": "ann"} {
			if out := w.send(domaintest.Bound("u", "ann"), SendInput{Type: "message", Sender: said, Recipient: "bob",
				Content: "c", Summary: "s"}); out.Routing.Sender != want {
				t.Errorf("%q: %+v", said, out.Routing)
			}
		}
		for said, want := range map[string]string{"": Lead, Lead: Lead, "alpha": Lead} { // its program leads the team
			if out := w.send(alpha, SendInput{Type: "message", Sender: said, Recipient: "bob", Content: "c",
				Summary: "s"}); out.Routing.Sender != want {
				t.Errorf("%q: %+v", said, out.Routing)
			}
		}
		if out := w.send(human, SendInput{Type: "message", Sender: "bob", Recipient: "ann", Content: "c",
			Summary: "s"}); out.Routing.Sender != "bob" {
			t.Errorf("%+v", out.Routing)
		}
		refused := `this key speaks for "ann" and may not speak as "bob"`
		_, err := w.Send(t.Context(), domaintest.Bound("u", "ann"),
			SendInput{TeamName: "core", Type: "message", Sender: "bob", Recipient: "bob", Content: "c", Summary: "s"})
		says(t, err, fault.Forbidden, refused)
		_, err = w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"),
			ReadInput{TeamName: "core", AgentName: "bob", MarkAsRead: new(false)})
		says(t, err, fault.Forbidden, refused)
		_, err = w.PollInbox(t.Context(), domaintest.Bound("u", "ann"), PollInput{TeamName: "core", AgentName: "bob"})
		says(t, err, fault.Forbidden, refused)
		_, err = w.Heartbeat(t.Context(), domaintest.Bound("u", "ann"),
			HeartbeatInput{TeamName: "core", AgentName: "bob"})
		says(t, err, fault.Forbidden, refused)
		_, err = w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"), ReadInput{TeamName: "core", AgentName: Lead})
		says(t, err, fault.Forbidden, `this key speaks for "ann" and may not speak as "team-lead"`)
		// The lead reads every inbox and marks nothing in it.
		for _, mark := range []*bool{nil, new(true), new(false)} {
			out, err := w.ReadInbox(t.Context(), alpha, ReadInput{
				TeamName:   "core",
				AgentName:  "bob",
				UnreadOnly: true,
				MarkAsRead: mark,
			})
			if err != nil || len(out.Messages) != 6 {
				t.Errorf("%+v, %v", out, err)
			}
			if out, err = w.PollInbox(t.Context(), alpha, PollInput{TeamName: "core", AgentName: "bob"}); err != nil ||
				len(out.Messages) != 6 {
				t.Errorf("%+v, %v", out, err)
			}
		}
		if out, err := w.ReadInbox(t.Context(), alpha, ReadInput{TeamName: "core", AgentName: "nobody"}); err != nil ||
			len(out.Messages) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		if out, err := w.PollInbox(t.Context(), domaintest.Bound("u", "bob"),
			PollInput{TeamName: "core", AgentName: "bob"}); err != nil || len(out.Messages) != 6 {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

func TestAnInboxIsReadOldestFirstAndMarkedAsRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		for n := range 11 {
			w.send(alpha, SendInput{Type: "message", Recipient: "ann", Content: fmt.Sprint(n), Summary: "s"})
		}
		ids := func(out InboxOutput, err error) (ids []string) {
			for _, m := range domaintest.Must(out, err)(t).Messages {
				ids = append(ids, m.ID)
			}
			return ids
		}
		in := ReadInput{TeamName: "core", AgentName: "ann", Limit: 5}
		first, err := w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"), in)
		same(t, "the first page", ids(first, err), []string{"0000000001", "0000000002", "0000000003", "0000000004",
			"0000000005"})
		if first.Messages[0].Read || first.NextCursor == "" {
			t.Errorf("%+v", first)
		}
		in.Cursor = first.NextCursor
		second, err := w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"), in)
		same(t, "the second page", ids(second, err), []string{"0000000006", "0000000007", "0000000008", "0000000009",
			"0000000010"})
		readOnly := domaintest.Bound("u", "ann")
		readOnly.ReadOnly = true
		for range 2 { // it marks nothing
			out, err := w.PollInbox(t.Context(), readOnly, PollInput{TeamName: "core", AgentName: "ann"})
			same(t, "unread", ids(out, err), []string{"0000000011", "0000000012"})
		}
		out, err := w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"),
			ReadInput{TeamName: "core", AgentName: "ann", UnreadOnly: true})
		same(t, "unread, and marked", ids(out, err), []string{"0000000011", "0000000012"})
		if out, err = w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"),
			ReadInput{TeamName: "core", AgentName: "ann", UnreadOnly: true}); err != nil ||
			asJSON(t, out) != `{"messages":[]}` {
			t.Errorf("%+v, %v", out, err)
		}
		if all := w.inbox("core", "ann"); len(all) != 12 || !all[0].Read || !all[11].Read {
			t.Errorf("%+v", all)
		}
		if out, err = w.ReadInbox(t.Context(), human, ReadInput{TeamName: "core", AgentName: "nobody"}); err != nil ||
			asJSON(t, out) != `{"messages":[]}` {
			t.Errorf("%+v, %v", out, err)
		}
		_, err = w.ReadInbox(t.Context(), human, ReadInput{TeamName: "none", AgentName: "ann"})
		says(t, err, fault.NotFound, "Team none does not exist")
	})
}

func TestOfTwoConcurrentReadersEachMessageGoesToOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		messages := domaintest.Crowd(t, 8, 4)
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := range messages {
				in := SendInput{TeamName: "core", Type: "message", Recipient: "ann", Content: fmt.Sprint(n),
					Summary: "s"}
				for _, err := w.Send(t.Context(), alpha, in); err != nil; _, err = w.Send(t.Context(), alpha, in) {
					if !fault.Is(err, fault.Conflict) {
						t.Error(err)
						return
					}
				}
			}
		})
		var mu sync.Mutex
		got := map[string]int{}
		all := func() bool { mu.Lock(); defer mu.Unlock(); return len(got) == messages+1 }
		for range 2 {
			wg.Go(func() {
				for !all() && t.Context().Err() == nil && !t.Failed() {
					out, err := w.PollInbox(t.Context(), domaintest.Bound("u", "ann"),
						PollInput{TeamName: "core", AgentName: "ann", TimeoutMs: new(500)})
					if err != nil && !fault.Is(err, fault.Conflict) {
						t.Error(err)
						return
					}
					mu.Lock()
					for _, m := range out.Messages {
						got[m.ID]++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for id, n := range got {
			if n != 1 {
				t.Errorf("message %s was delivered %d times", id, n)
			}
		}
		for _, m := range w.inbox("core", "ann") {
			if !m.Read || got[m.ID] == 0 {
				t.Errorf("%+v was lost", m)
			}
		}
	})
}

func TestAMessageEndsAPoll(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		if _, err := w.PollInbox(t.Context(), domaintest.Bound("u", "ann"),
			PollInput{TeamName: "core", AgentName: "ann"}); err != nil {
			t.Fatal(err)
		}
		if out, err := w.PollInbox(t.Context(), domaintest.Bound("u", "ann"),
			PollInput{TeamName: "core", AgentName: "ann", TimeoutMs: new(0)}); err != nil || len(out.Messages) != 0 {
			t.Errorf("%+v, %v", out, err)
		}
		done := make(chan InboxOutput, 1)
		began := time.Now()
		go func() {
			out, err := w.PollInbox(t.Context(), domaintest.Bound("u", "ann"),
				PollInput{TeamName: "core", AgentName: "ann", TimeoutMs: new(55_000)})
			if err != nil {
				t.Error(err)
			}
			done <- out
		}()
		w.send(alpha, SendInput{Type: "message", Recipient: "ann", Content: "wake", Summary: "s"})
		if out := <-done; len(out.Messages) != 1 || out.Messages[0].Text != "wake" ||
			time.Since(began) > 50*time.Second {
			t.Errorf("%+v after %v", out, time.Since(began))
		}
	})
}

func TestAMessageWithAnIdempotencyKeyIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		in := SendInput{Idempotency: op.Idempotency{IdempotencyKey: "k"}, Type: "message", Recipient: "ann",
			Content: "c", Summary: "s"}
		if a, b := w.send(alpha, in), w.send(alpha, in); asJSON(t, a) != asJSON(t, b) ||
			len(w.inbox("core", "ann")) != 2 {
			t.Errorf("%+v, %+v", a, b)
		}
	})
}
