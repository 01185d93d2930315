// Package checkouttest makes repositories of git for tests, which see no settings of the machine.
package checkouttest
