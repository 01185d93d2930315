package relay

import (
	"strings"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// owners are the rights of operations that speak for a program or change its objects, mails those of operations on the
// caller's own mail.
var (
	owners = op.Rights{Program: op.MayNot, Unbound: op.MayNot, Human: op.May}
	mails  = op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.May}
)

// The steps that the cases of the mail begin with.
var (
	// session is a live session of alpha.
	session = []op.Step{{Op: "create_session", In: op.In{"name": "the first"}}}
	// query is a message to alpha that wants to be acknowledged.
	query = []op.Step{{Op: "send_message", Save: "messageId as message",
		In: op.In{"message": "which parser?", "source": "alpha", "target": "alpha", "message_type": "QUERY"}}}
	// directive is an urgent message to alpha, in a thread.
	directive = []op.Step{{Op: "send_message", In: op.In{"message": "stop", "source": "alpha", "target": "alpha",
		"message_type": "DIRECTIVE", "priority": "high", "threadId": "th"}}}
	// history is a cursor to the second of two messages of alpha's.
	history = op.After(query, query[0], op.Step{Op: "get_messages", Save: "nextCursor as cursor",
		In: op.In{"includeDelivered": true, "limit": 1}})
	// tooLate is a message to alpha that expires after a second.
	tooLate = []op.Step{{Op: "send_message", Save: "messageId as letter",
		In: op.In{"message": "too late", "source": "alpha", "target": "alpha", "message_type": "STATUS", "ttl": 1}}}
	// deadLetters are two: each expired before alpha looked into its inbox.
	deadLetters = op.After(tooLate, tooLate[0], op.Step{Op: "get_messages", Pass: 2 * time.Second})
	// crew is a group of three programs, band a group of alpha alone.
	crew = []op.Step{{Op: "set_group", In: op.In{"name": "crew", "members": []string{"alpha", "beta", "gamma"}}}}
	band = []op.Step{{Op: "set_group", In: op.In{"name": "band", "members": []string{"alpha"}}}}
	// groupsPage is a cursor to the second of two groups.
	groupsPage = op.After(crew, band[0], op.Step{Op: "list_groups", In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})
)

func sendCases() op.Cases {
	const theKey, theGroup, theSessions = "the key is read", "the group is read", "the live sessions are read"
	const both = "the group and the key are read"
	to := func(target string) op.In {
		return op.In{"message": "The parser is done.", "source": "alpha", "target": target, "message_type": "STATUS"}
	}
	once := func(target string) op.In {
		in := to(target)
		in["idempotencyKey"] = "k"
		return in
	}
	each := to("alpha")
	each["delivery"] = "each"
	sent := func(in op.In) op.Step { return op.Step{Op: "send_message", In: in} }
	return op.Cases{RPCs: 1, Rights: owners, Examples: []op.Example{
		{In: to("beta")},
		{Name: "with everything", In: op.In{"message": "hello <b>", "source": "alpha", "target": "alpha",
			"message_type": "DIRECTIVE", "priority": "high", "action": "queue", "context": "c", "sessionId": "s.1",
			"reply_to": "r", "threadId": "th", "ttl": 60, "provenance": op.In{"model": "m"}}},
		{Name: "to an unknown program",
			In: op.In{"message": "who is there", "source": "alpha", "target": "nobody", "message_type": "PING"}},
		{Name: "to a session", Given: session, In: to("alpha/1"), RPCs: 2},
		{Name: "to a session that is not live", In: to("alpha/9"), RPCs: 3},
		{Name: "to each session of a program", Given: session, In: each, RPCs: 2},
		{Name: "to each session of a program that has none", In: each, RPCs: 2},
		{Name: "from a session", In: op.In{"message": "done", "target": "beta", "message_type": "STATUS",
			"sessionId": "alpha/1"}},
		// To a user without such a key the program is unknown.
		{Name: "to a program with a key", Given: []op.Step{{Op: "get_messages", As: "beta"}}, In: to("beta")},
		{Name: "with an idempotency key", In: once("beta"), RPCs: 2, Over: theKey},
		{Name: "again with the same key", Given: []op.Step{sent(once("beta"))}, In: once("beta"), RPCs: 2,
			Over: theKey},
		{Name: "another with the same key", Given: []op.Step{sent(once("beta"))}, In: once("gamma"),
			Fault: fault.Precondition, RPCs: 2, Over: theKey},
		{Name: "as another program",
			In:    op.In{"message": "m", "source": "beta", "target": "alpha", "message_type": "PING"},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "under the name of a program, with a key that is bound to none", Given: query, As: op.Unbound, In: to("beta"),
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "under the name of a program, by the human", As: op.Human, In: to("beta")},
		{Name: "to a group in capitals", Given: crew, In: to("group:CREW"), RPCs: 2, Over: theGroup},
		{Name: "to a group", Given: crew, In: to("group:crew"), RPCs: 2, Over: theGroup},
		{Name: "to a group, with an idempotency key", Given: crew, In: once("group:crew"), RPCs: 3, Over: both},
		{Name: "to a group, again with the same key", Given: op.After(crew, sent(once("group:crew"))),
			In: once("group:crew"), RPCs: 3, Over: both},
		{Name: "to a group that is nowhere", Given: crew, In: to("group:x"), Fault: fault.NotFound,
			RPCs: 2, Over: "the group and the names of the others are read"},
		{Name: "to a group of the sender alone", Given: band, In: to("group:band"), Fault: fault.Precondition,
			RPCs: 2, Over: theGroup},
		{Name: "to all", Given: []op.Step{{Op: "create_session", As: "beta", In: op.In{"name": "n"}}}, In: to("all"),
			RPCs: 2, Over: theSessions},
		{Name: "to all, with no other session", In: to("all"), Fault: fault.Precondition, RPCs: 2, Over: theSessions},
	}, Refused: []op.Refusal{
		{Name: "no message", In: `{"source":"alpha","target":"a","message_type":"PING"}`, Path: "message",
			Words: "is required"},
		{Name: "an encoded surrogate",
			In:   "{\"message\":\"\xed\xa0\x80\",\"source\":\"alpha\",\"target\":\"a\",\"message_type\":\"PING\"}",
			Path: "message", Words: "must be valid UTF-8 text"},
		{Name: "a target with a space", In: `{"message":"m","source":"alpha","target":"a b","message_type":"PING"}`,
			Path: "target", Words: "must match ^"},
		{Name: "an unknown type", In: `{"message":"m","source":"alpha","target":"a","message_type":"SHOUT"}`,
			Path: "message_type", Words: "must be one of PING, PONG, HANDSHAKE, DIRECTIVE, STATUS, ACK, QUERY, RESULT"},
	}}
}

func getCases() op.Cases {
	betas := []op.Step{{Op: "send_message",
		In: op.In{"message": "m", "source": "alpha", "target": "beta", "message_type": "STATUS"}}}
	// Without a target the inbox is the caller's own, and a human has none.
	rights := op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.OwnOnly}
	return op.Cases{RPCs: 2, Rights: rights, Examples: []op.Example{
		{Given: query},
		{Name: "of the own program in capitals", Given: query, In: op.In{"target": "ALPHA"}},
		{Name: "where there are none"},
		{Name: "without marking them", Given: directive, In: op.In{"markAsRead": false, "priority": "high"}},
		{Name: "with a wait", Given: directive,
			In: op.In{"waitMs": 55000, "sessionId": "alpha.1", "threadId": "th", "message_type": "DIRECTIVE"}},
		{Name: "with those delivered before", Given: op.After(query, query[0], op.Step{Op: "get_messages"}),
			In: op.In{"includeDelivered": true, "limit": 1}},
		{Name: "with those delivered before, the next page", Given: history,
			In: op.In{"includeDelivered": true, "limit": 1, "cursor": "$cursor"}},
		{Name: "of a session, with an unbound key", As: op.Unbound,
			In: op.In{"sessionId": "scout.1", "markAsRead": false}},
		{Name: "of a program's session, with an unbound key", Given: query, As: op.Unbound,
			In: op.In{"sessionId": "alpha.1", "markAsRead": false}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "of a program, by the human", Given: betas, As: op.Human, In: op.In{"target": "beta"}},
		{Name: "of a program, by the human, without marking them", Given: query, As: op.Human,
			In: op.In{"target": "alpha", "markAsRead": false}},
		{Name: "of a program, with an unbound key", Given: query, As: op.Unbound, In: op.In{"target": "Alpha"},
			Fault: fault.Forbidden, RPCs: op.NoRPCs},
		{Name: "of another program", In: op.In{"target": "beta"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a limit of 0", In: `{"limit":0}`, Path: "limit", Words: "must be at least 1"},
		{Name: "a limit too large", In: `{"limit":101}`, Path: "limit", Words: "must be at most 100"},
		{Name: "a negative wait", In: `{"waitMs":-1}`, Path: "waitMs", Words: "must be at least 0"},
		{Name: "a mark that is a word", In: `{"markAsRead":"maybe"}`, Path: "markAsRead",
			Words: "must be of type boolean, not string"},
		{Name: "a cursor of another call", Given: groupsPage, In: `{"cursor":"$cursor","includeDelivered":true}`,
			Path: "cursor", Words: "use the one that came with the page before"},
		{Name: "a cursor without those delivered before", Given: history, In: `{"cursor":"$cursor"}`, Path: "cursor",
			Words: "goes with includeDelivered alone"},
		{Name: "a receipt with those delivered before", In: `{"receipt":"r","includeDelivered":true}`, Path: "includeDelivered",
			Words: "goes without confirm and receipt"},
		{Name: "no program, by the human", As: op.Human, In: `{}`, Path: "target",
			Words: "is required: this key is bound to no program"},
	}}
}

func ackCases() op.Cases {
	acked := op.After(query, op.Step{Op: "ack_messages", In: op.In{"messageIds": []string{"$message"}}})
	return op.Cases{Rights: mails, Owned: []string{"messageIds"}, Examples: []op.Example{
		{Given: query, In: op.In{"messageIds": []string{"$message"}}},
		{Name: "with one that is nowhere", Given: query,
			In: op.In{"messageIds": []string{"$message", "nobody-made-this"}}},
		{Name: "twice in one call", Given: query, In: op.In{"messageIds": []string{"$message", "$message"}}},
		{Name: "again", Given: acked, In: op.In{"messageIds": []string{"$message"}}},
		{Name: "of a dead letter", Given: deadLetters, In: op.In{"messageIds": []string{"$letter"}}},
	}, Refused: []op.Refusal{
		{Name: "no ids", In: `{"messageIds":[]}`, Path: "messageIds", Words: "must not be empty"},
		{Name: "a wrong type in a list", In: `{"messageIds":["ok",["x"]]}`, Path: "messageIds[1]",
			Words: "must be of type string, not array"},
		{Name: "a list too long", In: `{"messageIds":["` + strings.Repeat(`x","`, 100) + `x"]}`,
			Path: "messageIds", Words: "must have at most 100 members, not 101"},
		{Name: "halves of a character in the wrong order", In: `{"messageIds":["ok","\udfff\ud800"]}`,
			Path: "messageIds[1]", Words: "must be valid UTF-8 text"},
		{Name: "an id with a NUL", In: `{"messageIds":["a\u0000"]}`, Path: "messageIds[0]",
			Words: "must match ^[A-Za-z0-9]"},
		{Name: "an id with a slash", In: `{"messageIds":["a/b"]}`, Path: "messageIds[0]",
			Words: "must match ^[A-Za-z0-9]"},
		{Name: "an empty id", In: `{"messageIds":["a",""]}`, Path: "messageIds[1]", Words: "must match ^[A-Za-z0-9]"},
	}}
}

func deadCases() op.Cases {
	page := op.After(deadLetters, op.Step{Op: "get_dead_letters", In: op.In{"limit": 1}, Save: "nextCursor as cursor"})
	return op.Cases{Rights: mails, Examples: []op.Example{
		{Given: deadLetters},
		{Name: "where there are none"},
		{Name: "before the inbox of an expired one was read", Given: tooLate, Pass: 2 * time.Second},
		{Name: "the first page", Given: deadLetters, In: op.In{"limit": 1}},
		{Name: "the next page", Given: page, In: op.In{"limit": 1, "cursor": "$cursor"}},
		{Name: "of all programs, by the human", As: op.Human, Given: deadLetters},
		{Name: "with an unbound key", As: op.Unbound, Given: deadLetters},
	}, Refused: []op.Refusal{
		{Name: "a limit of 0", In: `{"limit":0}`, Path: "limit", Words: "must be at least 1"},
		{Name: "a cursor of another call", Given: groupsPage, In: `{"cursor":"$cursor"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
		{Name: "a text that is no cursor", In: `{"cursor":"nonsense"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
	}}
}

func setGroupCases() op.Cases {
	members := func(names ...string) op.In {
		return op.In{"name": "crew", "members": append([]string{}, names...)}
	}
	open := []op.Step{{Op: "set_group", In: op.In{"name": "crew", "members": []string{"alpha"}, "open": true}}}
	return op.Cases{Named: []string{"name"}, Rights: owners, Examples: []op.Example{
		{Given: crew, In: members("alpha", "beta")},
		{Name: "of a new group", In: members("alpha", "beta")},
		{Name: "of a group in capitals", Given: crew, In: op.In{"name": "CREW", "members": []string{"beta"}}},
		{Name: "that a program leaves", Given: crew, As: "beta", In: members("alpha", "gamma")},
		{Name: "that a program joins", Given: open, As: "beta", In: members("alpha", "beta")},
		{Name: "that a program joins, though it is not open", Given: band, As: "beta",
			In: op.In{"name": "band", "members": []string{"alpha", "beta"}}, Fault: fault.Forbidden},
		{Name: "that a program empties", Given: crew, As: "beta", In: members(), Fault: fault.Forbidden},
		{Name: "with a member twice",
			In: op.In{"name": "crew", "members": []string{"gamma", "alpha", "gamma", "beta"}}},
		{Name: "of a group that is there", Given: crew, In: op.In{"name": "crew", "members": []string{"beta"}}},
		{Name: "to no members", Given: crew, In: op.In{"name": "crew", "members": []string{}}},
	}, Refused: []op.Refusal{
		{Name: "no members", In: `{"name":"crew"}`, Path: "members", Words: "is required"},
		{Name: "a member with a space", In: `{"name":"crew","members":["ok","not ok"]}`, Path: "members[1]",
			Words: "must match ^[A-Za-z0-9]"},
		{Name: "a member too long", In: `{"name":"crew","members":["` + strings.Repeat("x", 101) + `"]}`,
			Path: "members[0]", Words: "must be at most 100 characters, not 101"},
		{Name: "too many members", In: `{"name":"crew","members":["` + strings.Repeat(`x","`, 100) + `x"]}`,
			Path: "members", Words: "must have at most 100 members, not 101"},
		{Name: "a name with a colon", In: `{"name":"group:crew","members":["x"]}`, Path: "name",
			Words: "must match ^[A-Za-z0-9]"},
		{Name: "a name with a space", In: `{"name":"no group!","members":["x"]}`, Path: "name",
			Words: "must match ^[A-Za-z0-9]"},
	}}
}

func listGroupsCases() op.Cases {
	return op.Cases{Rights: op.Rights{Program: op.May, Unbound: op.May, Human: op.May}, Examples: []op.Example{
		{Given: crew},
		{Name: "where there are none"},
		{Name: "the first page", Given: op.After(crew, band...), In: op.In{"limit": 1}},
		{Name: "the next page", Given: groupsPage, In: op.In{"limit": 1, "cursor": "$cursor"}},
	}, Refused: []op.Refusal{
		{Name: "a limit too large", In: `{"limit":101}`, Path: "limit", Words: "must be at most 100"},
		{Name: "a cursor of another call", Given: history, In: `{"cursor":"$cursor"}`, Path: "cursor",
			Words: "use the one that came with the page before"},
	}}
}
