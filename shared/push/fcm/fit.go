package fcm

import (
	"encoding/json"
	"unicode/utf8"

	"firebase.google.com/go/v4/messaging"

	"parley.internal/shared/push"
)

const (
	// budget is FCM's 4,096 bytes without what FCM adds on its way: the id of the message, the sender's and the like.
	budget = 4096 - 256
	// maxOptions is as many as a question has.
	maxOptions = 5
)

// steps are how a notice is shortened, one after the other until it fits. A zero leaves a length as it is. The last
// fits whatever it is given, but for ids that are longer than the store makes them.
var steps = []struct {
	option, text int
	noURL        bool
}{
	{},
	{option: 100},
	{option: 60},
	{option: 40},
	{option: 20},
	{option: 20, text: 200},
	{option: 20, text: 100},
	{option: 20, text: 100, noURL: true},
	{option: 20, text: 40, noURL: true},
}

// fit is the first message built from the notice that no platform finds too long. Options keep their number and order,
// because an app answers by the index.
func fit(n push.Notice, build func(push.Notice) *messaging.MulticastMessage) *messaging.MulticastMessage {
	if len(n.Options) > maxOptions {
		n.Options = n.Options[:maxOptions]
	}
	var m *messaging.MulticastMessage
	for _, step := range steps {
		short := n
		short.Title, short.Body = shorten(n.Title, step.text), shorten(n.Body, step.text)
		short.Options = make([]string, len(n.Options))
		for i, option := range n.Options {
			short.Options[i] = shorten(option, step.option)
		}
		if step.noURL {
			short.URL = ""
		}
		if m = build(short); size(m) <= budget {
			break
		}
	}
	return m
}

// shorten cuts text to at most n characters, the last of which says that it did; zero cuts nothing.
func shorten(text string, n int) string {
	if n == 0 || utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// size is the most bytes that a platform gets of the message: its notification and its data.
func size(m *messaging.MulticastMessage) int {
	common := m.Data
	if m.Android.Data != nil {
		common = m.Android.Data
	}
	return max(
		length(m.Notification)+length(m.Android.Notification)+length(common),
		length(m.APNS.Payload)+length(m.Data),
		length(m.Webpush.Notification)+length(m.Webpush.FCMOptions)+length(m.Data))
}

func length(part any) int {
	b, err := json.Marshal(part)
	if err != nil {
		return budget + 1
	}
	return len(b)
}
