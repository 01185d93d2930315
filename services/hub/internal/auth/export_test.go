package auth

// Remembered is the bound of each cache.
const Remembered = remembered

// Held returns the number of entries of each cache.
func (a *Authenticator) Held() []int {
	return []int{a.known.Len(), a.proven.Len(), a.origins.Len(), a.calls.Len()}
}
