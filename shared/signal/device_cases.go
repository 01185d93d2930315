package signal

import (
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

// phone and browser register one device each.
var (
	phone = []op.Step{{Op: "register_device", As: op.Human, Save: "deviceId as device",
		In: op.In{"token": "a-token", "platform": "android", "name": "my ✓ phone"}}}
	browser = []op.Step{{Op: "register_device", As: op.Human, In: op.In{"token": "another", "platform": "web"}}}
)

func registerCases() op.Cases {
	once := op.In{"token": "a-token", "platform": "android", "name": "my ✓ phone", "idempotencyKey": "k"}
	registered := []op.Step{{Op: "register_device", As: op.Human, In: once}}
	return op.Cases{Rights: peoples, Examples: []op.Example{
		{As: op.Human, In: op.In{"token": "the-token-of-the-app", "platform": "android", "name": "my phone"}},
		{Name: "of a token that is there", Given: phone, As: op.Human,
			In: op.In{"token": "a-token", "platform": "android", "name": "renamed"}},
		{Name: "with an idempotency key", As: op.Human, In: once},
		{Name: "again with the same key", Given: registered, As: op.Human, In: once},
		{Name: "another with the same key", Given: registered, As: op.Human,
			In: op.In{"token": "another", "platform": "web", "idempotencyKey": "k"}, Fault: fault.Precondition},
		{Name: "of a topic of ntfy", As: op.Human, In: op.In{"platform": "ntfy", "name": "train",
			"url": "https://ntfy.example/a-long-name", "token": "tk_of_the_server"}},
		{Name: "of a webhook", As: op.Human, In: op.In{"platform": "webhook", "name": "pager", "private": true,
			"url": "https://pager.example/hook", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8G"}},
		{Name: "by an agent", In: op.In{"token": "a", "platform": "ios"}, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an empty token", As: op.Human, In: `{"token":"","platform":"web"}`, Path: "token",
			Words: "is required for the platform web"},
		{Name: "a browser without its subscription", As: op.Human, In: `{"platform":"webpush"}`, Path: "subscription",
			Words: "is required for the platform webpush"},
		{Name: "a webhook without its address", As: op.Human, In: `{"platform":"webhook"}`, Path: "url",
			Words: "is required for the platform webhook"},
		{Name: "a webhook without TLS", As: op.Human, In: `{"platform":"webhook","url":"ftp://pager.example/"}`,
			Path: "url", Words: "must begin with https://"},
		{Name: "a topic without a name", As: op.Human, In: `{"platform":"ntfy","url":"https://ntfy.example/"}`,
			Path: "url", Words: "must be the URL of a topic"},
		{Name: "a secret that signs nothing", As: op.Human,
			In: `{"platform":"webhook","url":"https://pager.example/","secret":"s"}`, Path: "secret", Words: "in base64"},
		{Name: "a field of another platform", As: op.Human, In: `{"platform":"android","token":"t","reply":"r"}`,
			Path: "reply", Words: "is not for the platform android"},
		{Name: "an unknown platform", As: op.Human, In: `{"token":"t","platform":"fridge"}`, Path: "platform",
			Words: "must be one of android, ios, web, webpush, ntfy, webhook"},
	}}
}

func devicesCases() op.Cases {
	page := op.After(phone, browser[0], op.Step{Op: "list_devices", As: op.Human, In: op.In{"limit": 1},
		Save: "nextCursor as cursor"})
	return op.Cases{Rights: peoples, Examples: []op.Example{
		{Given: phone, As: op.Human},
		{Name: "where there are none", As: op.Human},
		{Name: "the first page", Given: op.After(phone, browser...), As: op.Human, In: op.In{"limit": 1}},
		{Name: "the next page", Given: page, As: op.Human, In: op.In{"limit": 1, "cursor": "$cursor"}},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a limit too large", As: op.Human, In: `{"limit":101}`, Path: "limit", Words: "must be at most 100"},
	}}
}

func unregisterCases() op.Cases {
	deleted := op.After(phone, op.Step{Op: "delete_device", As: op.Human, In: op.In{"deviceId": "$device"}})
	return op.Cases{Rights: peoples, Owned: []string{"deviceId"}, Examples: []op.Example{
		{Given: phone, As: op.Human, In: op.In{"deviceId": "$device"}},
		{Name: "twice", Given: deleted, As: op.Human, In: op.In{"deviceId": "$device"}, Fault: fault.NotFound},
		{Name: "by an agent", Given: phone, In: op.In{"deviceId": "$device"}, Fault: fault.Forbidden,
			RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an id with a slash", As: op.Human, In: `{"deviceId":"a/b"}`, Path: "deviceId",
			Words: "must match ^[A-Za-z0-9]"},
	}}
}

func testCases() op.Cases {
	test := op.Step{Op: "test_device", As: op.Human, In: op.In{"deviceId": "$device"}}
	many := test
	many.Times = testsPerMinute
	return op.Cases{Rights: peoples, Owned: []string{"deviceId"}, Examples: []op.Example{
		{Given: phone, As: op.Human, In: test.In},
		{Name: "again after a minute", Given: op.After(phone, many), Pass: time.Minute, As: op.Human, In: test.In},
		{Name: "too often", Given: op.After(phone, many), As: op.Human, In: test.In, Fault: fault.Exhausted},
		{Name: "of a device that is nowhere", As: op.Human, In: op.In{"deviceId": "nobody-made-this"},
			Fault: fault.NotFound},
		{Name: "by an agent", Given: phone, In: test.In, Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an id with a slash", As: op.Human, In: `{"deviceId":"a/b"}`, Path: "deviceId",
			Words: "must match ^[A-Za-z0-9]"},
	}}
}

func settingsCases() op.Cases {
	set := []op.Step{{Op: "set_notification_settings", As: op.Human,
		In: op.In{"off": []string{"dreams"}, "perHour": 10}}}
	return op.Cases{Rights: peoples, Examples: []op.Example{
		{Given: set, As: op.Human},
		{Name: "before any was set", As: op.Human},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "a setting", As: op.Human, In: `{"off":[]}`, Path: "off", Words: "is not a field here; there are none"},
	}}
}

func setCases() op.Cases {
	fewer := []op.Step{{Op: "set_notification_settings", As: op.Human, In: op.In{"perHour": 7}}}
	return op.Cases{Rights: peoples, Examples: []op.Example{
		{As: op.Human, In: op.In{"off": []string{"dreams"}}},
		{Name: "with everything", As: op.Human, In: op.In{"off": []string{"dreams"}, "perHour": 10, "changesPerHour": 5,
			"quietHours": op.In{"from": "22:00", "to": "07:00", "timeZone": "Europe/Berlin"}}},
		{Name: "to fewer pushes", As: op.Human, In: op.In{"perHour": 7}},
		{Name: "to the defaults", Given: fewer, As: op.Human},
		{Name: "by an agent", Fault: fault.Forbidden, RPCs: op.NoRPCs},
	}, Refused: []op.Refusal{
		{Name: "an unknown kind of push", As: op.Human, In: `{"off":["dreams","mail"]}`, Path: "off[1]",
			Words: "must be one of questions, alerts, tasks, dreams, changes"},
		{Name: "an unknown time zone", As: op.Human,
			In:   `{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Mars/Base"}}`,
			Path: "quietHours.timeZone", Words: "must be the name of a time zone"},
		{Name: "the time zone of the server", As: op.Human,
			In:   `{"quietHours":{"from":"22:00","to":"07:00","timeZone":"Local"}}`,
			Path: "quietHours.timeZone", Words: "must be the name of a time zone"},
		{Name: "quiet hours from 24:00", As: op.Human, In: `{"quietHours":{"from":"24:00","to":"07:00"}}`,
			Path: "quietHours.from", Words: "must be a time of day"},
		{Name: "quiet hours until a word", As: op.Human, In: `{"quietHours":{"from":"22:00","to":"noon"}}`,
			Path: "quietHours.to", Words: "must be a time of day"},
		{Name: "quiet hours of no length", As: op.Human, In: `{"quietHours":{"from":"07:00","to":"07:00"}}`,
			Path: "quietHours.to", Words: "must differ"},
		{Name: "too many pushes", As: op.Human, In: `{"perHour":101}`, Path: "perHour", Words: "must be at most 100"},
	}}
}
