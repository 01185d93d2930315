package witness

import (
	"maps"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/store"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

// claimed is the current claim of task t1.
var claimed = Claim{Task: "t1", Agent: "alpha", Session: "s1", Token: 2,
	Told: at(10), Until: at(900), RequestID: "r-claim"}

// fullBook returns a book with a fact of every kind.
func fullBook() *Book {
	b := NewBook()
	b.Created("t1", "first", "alpha")
	b.Created("t2", "second", "any")
	b.Created("t3", "third", "any")
	b.Claimed(Claim{Task: "t1", Agent: "beta", Session: "s0", Token: 1, Told: at(1), Until: at(900)})
	b.Ending("t1", "s0", at(5))
	b.Released("t1", "s0")
	b.Claimed(claimed)
	b.ClaimRefused("t1", "beta", "s2", "r-late", "claimed by alpha")
	b.Claimed(Claim{Task: "t2", Agent: "beta", Session: "s3", Token: 1, Told: at(2), Until: at(32)})
	b.Renewed("t2", "s3", at(900))
	b.Ending("t2", "s3", at(20))
	b.Completed(Completion{Task: "t2", Agent: "beta", Result: "good", Token: 1, RequestID: "r-complete"})
	b.Claimed(Claim{Task: "t3", Agent: "beta", Session: "s4", Token: 1, Told: at(3), Until: at(900)})
	b.Ending("t3", "s4", at(30))
	b.Released("t3", "s4")

	b.Sent("m1", "alpha", "beta", "STATUS", "hello")
	b.Read("m1", "beta", "r-read", false, Span{at(6), at(7)})
	b.Sent("m2", "alpha", "beta", "QUERY", "well?")
	b.Read("m2", "beta", "r-read", false, Span{at(6), at(7)})
	b.Read("m2", "beta", "r-again", false, Span{at(126), at(127)})
	b.Acked("m2")
	b.Sent("m3", "alpha", "beta", "STATUS", "lost message")
	b.LostRead("beta", Span{at(40), at(42)})
	b.Shown("m3")

	b.TeamTask("crew", "1", "mend", "in_progress", "beta")
	b.TeamSent("crew", "beta", "words")
	b.TeamRead("crew", "beta", "0000000001", "words", "r-team", true)
	b.TeamRead("crew", "beta", "0000000002", assignment, "r-team", true)

	b.Follows("fire", "beta")
	b.FirePosted("fire", 1, "alpha", "one", "r-say")
	b.FirePosted("fire", 2, "beta", "two", "r-say")
	b.FireRead("fire", "beta", 1, "r-hear")
	b.FireRead("fire", "beta", 2, "r-hear")

	b.Asked("q1", "alpha", "ship?")
	b.Answered("q1", "yes")
	b.AnswerRead("q1", "yes", "r-heard")
	return b
}

const assignment = `{"type":"task_assignment","taskId":"1","subject":"mend"}`

func in(coll, id string) store.Ref { return store.Ref{User: "u", Coll: coll, ID: id} }

// matchingStore returns the documents that agree with fullBook.
func matchingStore() Documents {
	return Documents{
		in("tasks", "t1"): {
			"title": "first", "target": "alpha", "status": "active", "claimedBy": "alpha", "claimToken": int64(2),
		},
		in("leases", "t1"): {"leaseUntil": at(900)},
		in("tasks", "t2"): {
			"title": "second", "target": "any", "status": "done",
			"claimedBy": "beta", "claimToken": int64(1), "result": "good",
		},
		in("tasks", "t3"): {
			"title": "third", "target": "any", "status": "created", "claimToken": int64(1),
		},
		in("relay", "m1"): {
			"message": "hello", "source": "alpha", "target": "beta", "state": "delivered", "deliveredAt": at(6),
		},
		in("relay", "m2"): {
			"message": "well?", "source": "alpha", "target": "beta", "state": "acked", "deliveredAt": at(6),
		},
		in("relay", "m3"): {
			"message": "lost message", "source": "alpha", "target": "beta", "state": "delivered", "deliveredAt": at(41),
		},
		in("teams", "team:crew"): {"id": "T"},
		in("teamBoards", "team:crew"): {
			"tasks": []any{store.Fields{"id": int64(1), "status": "in_progress", "owner": "beta"}},
		},
		in("teams/T/teamTasks", "1"): {"subject": "mend"},
		in("teams/T/teamMessages", "0000000001:beta"): {
			"id": "0000000001", "seq": int64(1), "agent": "beta", "text": "words",
		},
		in("teams/T/teamMessages", "0000000002:beta"): {
			"id": "0000000002", "seq": int64(2), "agent": "beta", "text": assignment,
		},
		in("teamInboxes", "team:crew:beta"): {"teamId": "T", "agent": "beta", "last": int64(2)},
		in("fires", "fire"):                 {"messages": int64(2)},
		in("fires/fire/fireMessages", "1"):  {"seq": int64(1), "author": "alpha", "text": "one"},
		in("fires/fire/fireMessages", "2"):  {"seq": int64(2), "author": "beta", "text": "two"},
		in("tasks", "q1"): {
			"title": "ship?", "source": "alpha", "status": "done",
			"question": store.Fields{"content": "ship?", "response": "yes"},
		},
	}
}

func TestAStoreThatAgreesHasNoViolation(t *testing.T) {
	t.Parallel()
	report := fullBook().Audit(matchingStore(), at(60))
	for _, v := range report.Violations {
		t.Error(v)
	}
	want := map[string]int{"tasks created": 3, "claims": 4, "claims refused": 1, "tasks completed": 1,
		"messages sent": 3, "messages read": 3, "messages acknowledged": 1, "messages taken by a lost answer": 1,
		"team tasks": 1, "team messages": 1, "fire messages": 2, "questions asked": 1, "questions answered": 1}
	if !maps.Equal(report.Checked, want) {
		t.Errorf("checked %v\nwant    %v", report.Checked, want)
	}
}

// change puts one defect into a book or into a store.
type change struct {
	book    func(*Book)
	docs    func(Documents)
	promise string
	says    string
}

func set(coll, id, field string, v any) func(Documents) {
	return func(d Documents) { d[in(coll, id)][field] = v }
}

func gone(coll, id string) func(Documents) { return func(d Documents) { delete(d, in(coll, id)) } }

// copied stores a document a second time.
func copied(coll, id, other string) func(Documents) {
	return func(d Documents) { d[in(coll, other)] = maps.Clone(d[in(coll, id)]) }
}

var changes = map[string]change{
	"an acknowledged task is gone": {nil, gone("tasks", "t3"), Kept, `"third"`},
	"a repeated creation made two": {nil, copied("tasks", "t3", "t9"), Once, "stored 2 times: t3, t9"},
	"a task is for another": {
		nil, set("tasks", "t1", "target", "beta"), Kept, "target beta instead of alpha",
	},
	"a claim is gone": {
		nil, set("tasks", "t1", "claimToken", int64(1)), Kept, "under the token 2, and its last in the store is 1",
	},
	"a claim that holds was taken back": {
		nil, set("tasks", "t1", "status", "created"), Kept, "alpha holds task t1",
	},
	"a claim that holds has a shorter lease": {
		nil, set("leases", "t1", "leaseUntil", at(100)), Kept, "alpha holds task t1",
	},
	"a claim that holds has no lease": {nil, gone("leases", "t1"), Kept, "alpha holds task t1"},
	"a released task is still held":   {nil, set("tasks", "t3", "status", "active"), Kept, "released by beta"},
	"a task that is claimed is gone": {
		nil, gone("tasks", "t1"), Kept, "claimed by alpha, and is not in the store",
	},
	"a completed task is open": {
		nil, set("tasks", "t2", "status", "active"), Kept, "status active instead of done",
	},
	"a completed task has another result": {nil, set("tasks", "t2", "result", "bad"), Kept, "result bad"},
	"a completed task was claimed again": {
		nil, set("tasks", "t2", "claimToken", int64(2)), Kept, "claimToken 2 instead of 1",
	},
	"a message is gone":                  {nil, gone("relay", "m1"), Kept, `"hello"`},
	"a repeated message is stored twice": {nil, copied("relay", "m1", "m9"), Once, `"hello" was created once`},
	"a message is of another":            {nil, set("relay", "m1", "source", "gamma"), Kept, "source gamma"},
	"an acknowledgement is gone": {
		nil, set("relay", "m2", "state", "delivered"), Kept, "state delivered instead of acked",
	},
	"a message was delivered to nobody": {
		nil, set("relay", "m3", "deliveredAt", at(39)), Delivered, "beta never got it",
	},
	"a message is still pending": {
		nil, set("relay", "m3", "state", "pending"), Delivered, "message m3 is pending",
	},
	"a team task is gone":                  {nil, gone("teams/T/teamTasks", "1"), Kept, `"mend"`},
	"a repeated team task is stored twice": {nil, copied("teams/T/teamTasks", "1", "2"), Once, `"mend"`},
	"a team task's status is gone": {
		nil, func(d Documents) { d[in("teamBoards", "team:crew")] = store.Fields{} },
		Kept, "status <nil> instead of in_progress",
	},
	"a team is gone": {nil, gone("teams", "team:crew"), Kept, "team crew is not in the store"},
	"an owner was not notified": {
		nil, set("teams/T/teamMessages", "0000000002:beta", "text", "other"), Once, "beta was notified 0 times",
	},
	"a team message is gone": {nil, gone("teams/T/teamMessages", "0000000001:beta"), Kept, `"words"`},
	"an inbox has a wrong count": {
		nil, set("teamInboxes", "team:crew:beta", "last", int64(3)), Kept, "counts 3 messages and has 2",
	},
	"an inbox has a gap": {
		nil, set("teams/T/teamMessages", "0000000002:beta", "seq", int64(3)), Once, "number 3 at place 2",
	},
	"a fire message is gone": {
		nil, gone("fires/fire/fireMessages", "1"), Kept, `"one" of alpha`,
	},
	"a repeated fire message is stored twice": {
		nil, copied("fires/fire/fireMessages", "2", "3"), Once, `"two" was posted once`,
	},
	"a fire is gone": {nil, gone("fires", "fire"), Kept, "fire fire is not"},
	"a fire has a wrong count": {
		nil, set("fires", "fire", "messages", int64(1)), Kept, "counts 1 messages and has 2",
	},
	"a question is gone": {nil, gone("tasks", "q1"), Kept, `"ship?"`},
	"an answer is gone": {
		nil, set("tasks", "q1", "status", "created"), Kept, "status created instead of done",
	},
	"an answer is another": {
		nil, set("tasks", "q1", "question", store.Fields{"content": "ship?", "response": "no"}),
		Kept, "response no instead of yes",
	},
	"two claims have the same token": {
		func(b *Book) { c := claimed; c.Agent, c.Session = "beta", "s9"; b.Claimed(c) },
		nil, Exclusive, "under the token 2",
	},
	"a held task was claimed": {func(b *Book) {
		b.Claimed(Claim{Task: "t1", Agent: "beta", Session: "s9", Token: 3, Told: at(20), Until: at(50)})
	}, set("tasks", "t1", "claimToken", int64(3)), Exclusive, "while alpha held it"},
	"a task was claimed before it was released": {func(b *Book) {
		b.Ending("t1", "s1", at(30))
		b.Claimed(Claim{Task: "t1", Agent: "beta", Session: "s9", Token: 3, Told: at(20), Until: at(50)})
	}, set("tasks", "t1", "claimToken", int64(3)), Exclusive, "while alpha held it"},
	"a task was completed twice": {
		func(b *Book) { b.Completed(Completion{Task: "t2", Agent: "alpha", Result: "good", Token: 1}) },
		nil, Exclusive, "and before by beta",
	},
	"a task was claimed after its end": {func(b *Book) {
		b.Claimed(Claim{Task: "t2", Agent: "alpha", Session: "s9", Token: 2, Told: at(40), Until: at(50)})
	}, nil, Exclusive, "claimed by alpha under 2"},
	"a claim of a free task was refused": {func(b *Book) {
		b.Created("t4", "fourth", "any")
		b.ClaimRefused("t4", "beta", "s9", "r", "claimed")
	}, func(d Documents) {
		d[in("tasks", "t4")] = store.Fields{"title": "fourth", "target": "any"}
	}, Answers, "no other agent claimed it"},
	"a message was delivered twice": {
		func(b *Book) { b.Read("m1", "beta", "r-two", false, Span{at(200), at(201)}) }, nil, Delivered, "was delivered twice",
	},
	"a message came again with a mark, after its receipt": {
		func(b *Book) {
			b.Confirmed("m1", at(60))
			b.Read("m1", "beta", "r-two", true, Span{at(200), at(201)})
		}, nil, Delivered, "was delivered twice",
	},
	"a message came again with a mark, too soon": {
		func(b *Book) { b.Read("m1", "beta", "r-two", true, Span{at(60), at(62)}) }, nil, Delivered, "was delivered twice",
	},
	"a message is held although no reading was lost": {
		func(b *Book) { b.lostReads = nil }, func(d Documents) {
			m := d[in("relay", "m3")]
			m["state"], m["receipt"], m["dueAt"] = "pending", "c1", at(41+120)
		}, Delivered, "message m3 is pending",
	},
	"a message is held since before a reading was lost": {nil, func(d Documents) {
		m := d[in("relay", "m3")]
		m["state"], m["receipt"], m["dueAt"] = "pending", "c1", at(39+120)
	}, Delivered, "message m3 is pending"},
	"a message was delivered again too soon": {
		func(b *Book) { b.Read("m2", "beta", "r-two", false, Span{at(60), at(62)}) },
		nil, Delivered, "QUERY m2 was delivered twice",
	},
	"a message was delivered to another program": {func(b *Book) {
		b.Sent("m4", "alpha", "beta", "STATUS", "private")
		b.Read("m4", "gamma", "r", false, Span{at(6), at(7)})
	}, func(d Documents) {
		d[in("relay", "m4")] = store.Fields{"message": "private", "source": "alpha", "target": "beta"}
	}, Delivered, "gamma got message m4"},
	"a message was delivered that was never sent": {
		func(b *Book) { b.Read("m4", "beta", "r", false, Span{at(6), at(7)}) },
		nil, Delivered, "never acknowledged to a sender",
	},
	"a message that was lost is not shown": {
		func(b *Book) { b.messages["m3"].shown = false }, nil, Delivered, "not among its delivered messages",
	},
	"a team message was new twice": {
		func(b *Book) { b.TeamRead("crew", "beta", "0000000001", "words", "r", true) },
		nil, Delivered, "as new 2 times",
	},
	"a team message was never new": {func(b *Book) {
		s := b.teams["crew"].read["beta 0000000001"]
		s.unread = 0
		b.teams["crew"].read["beta 0000000001"] = s
	}, nil, Delivered, "never came to beta"},
	"a team message was not seen": {
		func(b *Book) { delete(b.teams["crew"].read, "beta 0000000001") },
		nil, Delivered, "did not see message 0000000001",
	},
	"a team message changed": {
		func(b *Book) { b.TeamRead("crew", "beta", "0000000001", "others", "r", false) },
		nil, Kept, `now says "others"`,
	},
	"a fire message was skipped": {
		func(b *Book) { b.FireRead("fire", "beta", 4, "r") }, nil, Delivered, "read number 4 after 2",
	},
	"a fire message was read twice": {
		func(b *Book) { b.FireRead("fire", "beta", 2, "r") }, nil, Delivered, "read number 2 after 2",
	},
	"a follower did not read to the end": {
		func(b *Book) { b.Follows("fire", "gamma") }, nil, Delivered, "read 0 of 2",
	},
	"two fire messages have one number": {
		func(b *Book) { b.FirePosted("fire", 2, "gamma", "three", "r") }, nil, Once, `"two" and "three"`,
	},
	"an asker read another answer": {
		func(b *Book) { b.AnswerRead("q1", "no", "r") }, nil, Kept, `read "no"`,
	},
	"a client got an unexpected refusal": {func(b *Book) { b.Violate(Answers, "r", "500") }, nil, Answers, "500"},
}

func TestEveryBrokenPromiseIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, docs := fullBook(), matchingStore()
			if c.book != nil {
				c.book(b)
			}
			if c.docs != nil {
				c.docs(docs)
			}
			found := b.Audit(docs, at(60)).Violations
			for _, v := range found {
				if v.Promise == c.promise && strings.Contains(v.Text, c.says) {
					return
				}
			}
			t.Errorf("none of %v is that %q: …%s…", found, c.promise, c.says)
		})
	}
}

func TestPossibleEffectsOfUnansweredCallsAreAllowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]change{
		"an unacknowledged claim": {nil, set("tasks", "t3", "claimToken", int64(2)), "", ""},
		"a claim after the end of a lease": {func(b *Book) {
			b.Claimed(Claim{Task: "t1", Agent: "beta", Session: "s9", Token: 3, Told: at(900), Until: at(950)})
		}, func(d Documents) {
			task, lease := d[in("tasks", "t1")], d[in("leases", "t1")]
			task["claimToken"], task["claimedBy"], lease["leaseUntil"] = int64(3), "beta", at(950)
		}, "", ""},
		"a message that is held for a reading that was lost": {nil, func(d Documents) {
			m := d[in("relay", "m3")]
			m["state"], m["receipt"], m["dueAt"] = "pending", "c1", at(50+120)
		}, "", ""},
		"a message that comes again with a mark": {func(b *Book) {
			b.Read("m1", "beta", "r-two", true, Span{at(200), at(201)})
			b.Confirmed("m1", at(202))
		}, nil, "", ""},
		"a lost reading of a team's inbox": {func(b *Book) {
			b.TeamLostRead("crew", "beta")
			s := b.teams["crew"].read["beta 0000000001"]
			s.unread = 0
			b.teams["crew"].read["beta 0000000001"] = s
		}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, docs := fullBook(), matchingStore()
			if c.book != nil {
				c.book(b)
			}
			if c.docs != nil {
				c.docs(docs)
			}
			for _, v := range b.Audit(docs, at(60)).Violations {
				t.Error(v)
			}
		})
	}
}
