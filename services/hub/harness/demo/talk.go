package demo

import "time"

// mail are threads between the agents, one message to nobody, and one that is not acknowledged.
func mail() []step {
	send := func(before time.Duration, from, to, kind, thread, text string) step {
		return step{before, from, "send_message", in{"message": text, "target": to, "message_type": kind,
			"threadId": thread}, ""}
	}
	read := func(before time.Duration, who string) step { return step{before, who, "get_messages", in{}, ""} }
	return []step{
		send(at(3, 10), "tester", "backend", "QUERY", "refunds", "Order 8841 was refunded twice. Is a refund idempotent?"),
		read(at(3, 5), "backend"),
		send(at(3, 0), "backend", "tester", "RESULT", "refunds",
			"Not yet: the key of the attempt is missing in the call. I add it with **capture**."),
		read(at(2, 50), "tester"),
		send(at(2, 40), "reviewer", "tester", "STATUS", "refunds", "I have seen the same in the logs of Tuesday."),
		send(at(1, 20), "frontend", "backend", "QUERY", "errors",
			"Which codes can a declined card have?\n\n1. `card_declined`\n2. `insufficient_funds`\n3. anything else?"),
		send(at(1, 0), "architect", "frontend", "DIRECTIVE", "errors", "Show one text for all declines until the list is final."),
		read(at(0, 50), "frontend"),
		send(at(0, 28), "release", "backend", "DIRECTIVE", "freeze", "No merges into main after 18:00 unless the freeze moves."),
		send(at(0, 9), "tester", "reviewer", "STATUS", "suite", "41 of 44 steps of the checkout suite pass."),
		{at(9, 20), "release", "send_message", in{"message": "Who signs the artefacts now?", "target": "security",
			"message_type": "QUERY", "ttl": 3600}, ""},
	}
}

// talk are a council with a ranking, a fire with a duel, and a verification of two rounds.
func talk() []step {
	say := func(before time.Duration, who, text string) step {
		return step{before, who, "campfire_post_message", in{"fireId": "payments", "text": text}, ""}
	}
	answer := func(before time.Duration, who, text string) step {
		return step{before, who, "send_response", in{"session_id": "$council", "content": text}, "feedback as " + who + "Said"}
	}
	join := func(before time.Duration, who string) step {
		return step{before, who, "join_council", in{"session_id": "$council"}, ""}
	}
	return append([]step{
		{at(5, 30), "architect", "start_council",
			in{"request": "How do we make payments idempotent: a key that the client sends, or a digest of the order?"},
			"session_id as council"},
		join(at(5, 28), "backend"), join(at(5, 28), "reviewer"), join(at(5, 27), "tester"),
		answer(at(5, 20), "backend", "A **key that the client sends**. It is what every provider does, and a retry is visible in the log."),
		answer(at(5, 10), "reviewer", "A key, and the server keeps the first answer for 24 hours. A digest breaks when a field is added."),
		answer(at(5, 0), "tester", "A digest is easier to test, but two equal orders in a minute are real: a key."),

		{at(4, 0), "architect", "campfire_get_or_create_fire", in{"fireId": "payments"}, ""},
		{at(3, 58), "architect", "campfire_update_battle_plan",
			in{"fireId": "payments",
				"content": "1. Table of attempts\n2. Capture without retries\n3. Refund endpoint\n"}, ""},
		say(at(3, 50), "backend", "Without retries we lose one payment in two hundred."),
		say(at(3, 45), "tester", "And the suite cannot tell a lost one from a slow one."),
		{at(3, 30), "architect", "campfire_update_battle_plan",
			in{"fireId": "payments",
				"content": "1. Table of attempts\n2. Capture with three retries\n3. Refund endpoint\n4. Checkout suite on staging\n"},
			""},
		{at(0, 50), "reviewer", "campfire_throw_gauntlet", in{"fireId": "payments", "target_name": "architect",
			"thesis_of_attack": "Three retries hide an outage: after the first failure the order must wait in a queue.",
			"deadline_minutes": 240}, ""},
	}, verification()...)
}

func verification() []step {
	submit := func(before time.Duration, who, role, output string, more in) step {
		all := in{"sessionId": "$check", "role": role, "output": output}
		for name, v := range more {
			all[name] = v
		}
		return step{before, who, "elenchus_submit_round", all, ""}
	}
	return []step{
		{at(2, 30), "reviewer", "elenchus_start_session", in{"target": "payments/refund.go", "workingDir": "/work/orchard",
			"requirements": "A refund is made at most once, and never exceeds what was captured.",
			"files": []in{{"path": "payments/refund.go",
				"content": "package payments\n\nfunc Refund(order string, cents int) error { return nil }\n"}}},
			"sessionId as check"},
		submit(at(2, 20), "reviewer", "verifier", "The sum of partial refunds is not compared with what was captured.", in{"issuesRaised": []in{
			{"id": "COR-01", "category": "CORRECTNESS", "severity": "CRITICAL",
				"summary": "Partial refunds can exceed the capture", "location": "payments/refund.go:3"},
			{"id": "SEC-01", "category": "SECURITY", "severity": "HIGH",
				"summary": "A refund without a key can be repeated", "location": "payments/refund.go:3"},
			{"id": "MNT-01", "category": "MAINTAINABILITY", "severity": "LOW", "summary": "Cents are a bare int",
				"location": "payments/refund.go:3"}}}),
		submit(at(2, 0), "backend", "critic", "COR-01 and SEC-01 hold. Cents are a type of their own in the next change.", in{}),
	}
}

// inbox are the questions and alerts that wait for the person at the end of the day, and some that they have answered.
func inbox() []step {
	ask := func(before time.Duration, who string, more in) step {
		return step{before, who, "ask_question", more, "questionId as " + who + "Asks"}
	}
	alert := func(before time.Duration, who, kind, text, about string) step {
		return step{before, who, "send_alert", in{"message": text, "alertType": kind, "context": about,
			"ttl": int((24 * time.Hour).Seconds())}, ""}
	}
	return []step{
		ask(at(6, 30), "tester", in{"question": "May the load test run against staging during the day?",
			"options": []string{"Yes", "Only at night"}}),
		{at(6, 10), person, "answer_question", in{"questionId": "$testerAsks", "response": "Yes"}, ""},
		ask(at(0, 13), "release", in{"question": "Move the freeze from 18:00 to tomorrow morning?",
			"options": []string{"Yes, tomorrow 09:00", "No, keep 18:00"}, "priority": "high",
			"context": "Two stories are open: **capture** needs about an hour, **page** is blocked.\n\nThe support team is informed either way."}),
		ask(at(0, 8), "frontend", in{"question": "What do customers read when a card is declined?",
			"options": []string{"Your bank declined the payment", "The payment failed", "Try another card"},
			"context": "The text is shown under the card form, in bold."}),
		ask(at(0, 5), "architect", in{"question": "Which currencies must the first version know?"}),
		alert(at(0, 33), "release", "error", "The registry refuses images: the quota of the month is used up", "project orchard-staging"),
		alert(at(0, 19), "tester", "warning", "The checkout suite takes 14 minutes, twice as long as yesterday", "since commit 9f31c2"),
		alert(at(0, 4), "backend", "success", "Capture with retries passes all unit tests", ""),
	}
}
