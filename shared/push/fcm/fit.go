package fcm

import (
	"encoding/json"
	"unicode/utf8"

	"firebase.google.com/go/v4/messaging"

	"parley.internal/shared/push"
)

const (
	// budget is FCM's limit of 4,096 bytes less a reserve for the fields that FCM adds, such as the IDs of the message
	// and of the sender.
	budget = 4096 - 256
	// maxOptions is the maximum number of options of a question.
	maxOptions = 5
)

// steps are the ways to shorten a notice, tried in order until the message fits: the maximum length of each option and
// of the title and the body, in characters (0 for no limit), and whether the URL is dropped. With the last step every
// message fits, because the store limits the length of IDs.
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

// fit returns the message for the notice, shortened until it is within the limit of every platform. Options keep their
// number and order, because an app answers with the index of an option.
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

// shorten cuts text to at most n characters, the last of which is then "…"; 0 means no limit.
func shorten(text string, n int) string {
	if n == 0 || utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// size returns the size of the largest platform's message, in bytes: its notification and its data.
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
