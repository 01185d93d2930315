package search

import "parley.internal/shared/op"

func cases() op.Cases {
	told := []op.Step{{Op: "send_message", In: op.In{"message": "Which parser do we keep, the old <b>?", "source": "alpha",
		"target": "alpha", "message_type": "QUERY"}}}
	asked := op.After(told, op.Step{Op: "create_task", In: op.In{"title": "Keep the old parser", "target": "any"}})
	page := op.After(asked, op.Step{Op: "search", In: op.In{"q": "parser", "limit": 1}, Save: "nextCursor as cursor"})
	return op.Cases{RPCs: 2, Rights: op.Rights{Program: op.OwnOnly, Unbound: op.OwnOnly, Human: op.May}, Examples: []op.Example{
		{Given: told, In: op.In{"q": "parser"}},
		{Name: "a phrase and a beginning", Given: asked, In: op.In{"q": `"the old" pars*`}},
		{Name: "narrowed", Given: asked, In: op.In{"q": "parser", "kind": "task", "program": "alpha", "from": "2026-01-01",
			"to": "2026-12-31T23:59:59Z"}},
		{Name: "the next page", Given: page, In: op.In{"q": "parser", "limit": 1, "cursor": "$cursor"}},
		{Name: "nothing", In: op.In{"q": "unheard-of"}, RPCs: 1},
		{Name: "by a human", Given: asked, As: op.Human, In: op.In{"q": "parser"}},
	}, Refused: []op.Refusal{
		{Name: "no query", In: `{}`, Path: "q", Words: "required"},
		{Name: "no word", In: `{"q":" - "}`, Path: "q", Words: "no word to search for"},
		{Name: "an open quotation mark", In: `{"q":"\"two words"}`, Path: "q", Words: "without its second one"},
		{Name: "a star alone", In: `{"q":"*"}`, Path: "q", Words: "a star that does not end a word"},
		{Name: "too many words", In: `{"q":"a b c d e f g h i j k l m"}`, Path: "q", Words: "at most 12 words and phrases"},
		{Name: "an unknown kind", In: `{"q":"x","kind":"mail"}`, Path: "kind", Words: "must be one of task, question"},
		{Name: "a day that is a word", In: `{"q":"x","from":"yesterday"}`, Path: "from", Words: "must be a date as 2026-11-01"},
		{Name: "days in the wrong order", In: `{"q":"x","from":"2026-03-02","to":"2026-03-01"}`, Path: "from",
			Words: "must not be after to"},
		{Name: "another cursor", In: `{"q":"x","cursor":"e30"}`, Path: "cursor", Words: "is not one of a search"},
		{Name: "a page over the limit", In: `{"q":"x","limit":51}`, Path: "limit", Words: "at most 50"},
	}}
}
