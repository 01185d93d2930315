package webpushtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
)

// Browser has the secrets of a subscription.
type Browser struct {
	Key  *ecdh.PrivateKey
	Auth []byte
}

// Decrypt returns the plain text of a push (RFC 8188 and 8291).
func (b Browser) Decrypt(body []byte) ([]byte, error) {
	const fixed = 16 + 4 + 1
	if len(body) < fixed || len(body) < fixed+int(body[fixed-1]) {
		return nil, errors.New("the header is too short")
	}
	salt, size, sender := body[:16], binary.BigEndian.Uint32(body[16:20]), body[fixed:fixed+int(body[fixed-1])]
	record := body[fixed+len(sender):]
	if len(record) > int(size) {
		return nil, errors.New("there is more than one record")
	}
	from, err := ecdh.P256().NewPublicKey(sender)
	if err != nil {
		return nil, err
	}
	shared, err := b.Key.ECDH(from)
	if err != nil {
		return nil, err
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, keyErr := hkdf.Key(sha256.New, secret, salt, info, n)
		err = errors.Join(err, keyErr)
		return out
	}
	ikm := derive(shared, b.Auth, "WebPush: info\x00"+string(b.Key.PublicKey().Bytes())+string(sender), 32)
	key := derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, err
	}
	plain = bytes.TrimRight(plain, "\x00")
	if !bytes.HasSuffix(plain, []byte{2}) {
		return nil, errors.New("the last record has no delimiter")
	}
	return plain[:len(plain)-1], nil
}

// Token returns the claims of an Authorization header of VAPID (RFC 8292) and the public key that signed it.
func Token(header string) (claims map[string]any, key string, err error) {
	rest, ok := strings.CutPrefix(header, "vapid t=")
	token, key, both := strings.Cut(rest, ", k=")
	parts := strings.Split(token, ".")
	if !ok || !both || len(parts) != 3 {
		return nil, "", errors.New("the header is not that of VAPID")
	}
	var decoded [4][]byte
	for i, part := range append(parts, key) {
		if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil, "", err
		}
	}
	if err := json.Unmarshal(decoded[1], &claims); err != nil {
		return nil, "", err
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), decoded[3])
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	r, s := new(big.Int).SetBytes(decoded[2][:32]), new(big.Int).SetBytes(decoded[2][32:])
	if !ecdsa.Verify(public, sum[:], r, s) {
		return nil, "", errors.New("the signature is not that of the key")
	}
	return claims, key, nil
}
