// Command vapid prints a new private VAPID key, for the secret PARLEY_VAPID_KEY.
package main

import (
	"fmt"
	"os"

	"parley.internal/shared/push/webpush"
)

func main() {
	keys, err := webpush.NewKeys()
	if err == nil {
		_, err = fmt.Print(keys.Private)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vapid:", err)
		os.Exit(1)
	}
}
