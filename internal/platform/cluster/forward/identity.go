// Package forward carries a request to the node that owns its subject, and accepts such requests from other nodes. It
// uses HTTP/2 with mutual TLS 1.3. The node that authenticated the client signs the client's identity.
//
// A node recognizes another by the certificate that the other's row names; the package owns how that is checked. It
// must never know a route, or what a request is about.
package forward

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Files are the paths of certificates, in PEM. If all are "", each start makes a new certificate.
type Files struct {
	Certificate, Key string
	// CA has signed the certificates of all nodes; with "", only the certificates in their rows count.
	CA string
}

// Identity is a node's certificate and signing key.
type Identity struct {
	NodeID      string
	certificate tls.Certificate
	method      jwt.SigningMethod
	roots       *x509.CertPool // nil without a CA
}

// NewIdentity reads a node's certificate, or makes one: its key never leaves the process.
func NewIdentity(nodeID string, files Files) (*Identity, error) {
	made := files == Files{}
	id := &Identity{NodeID: nodeID}
	var err error
	switch {
	case made:
		id.certificate, err = makeCertificate(nodeID)
	default:
		id.certificate, err = tls.LoadX509KeyPair(files.Certificate, files.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("the certificate of this node (tls.crt and tls.key of HARNESS_NODE_TLS_DIR): %w", err)
	}
	if id.method, err = methodOf(id.certificate.Leaf.PublicKey); err != nil {
		return nil, err
	}
	if made {
		return id, nil
	}
	authorities, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("the CA of the nodes (ca.crt of HARNESS_NODE_TLS_DIR): %w", err)
	}
	id.roots = x509.NewCertPool()
	if !id.roots.AppendCertsFromPEM(authorities) {
		return nil, fmt.Errorf("HARNESS_NODE_TLS_DIR: %s has no certificate in PEM", files.CA)
	}
	chain := make([]*x509.Certificate, 0, len(id.certificate.Certificate))
	for _, raw := range id.certificate.Certificate {
		one, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, fmt.Errorf("tls.crt of HARNESS_NODE_TLS_DIR: %w", err)
		}
		chain = append(chain, one)
	}
	if err := id.signed(chain); err != nil {
		return nil, fmt.Errorf("tls.crt of HARNESS_NODE_TLS_DIR is not signed by its ca.crt, other nodes would refuse it: %w", err)
	}
	return id, nil
}

// makeCertificate makes a self-signed certificate: the node's row determines its holder, not its subject.
func makeCertificate(nodeID string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: nodeID},
		NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(raw)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}, err
}

// Fingerprint returns the certificate's fingerprint for the node's row.
func (id *Identity) Fingerprint() string { return fingerprint(id.certificate.Leaf) }

func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}

// methodOf returns how the holder of a key signs.
func methodOf(key crypto.PublicKey) (jwt.SigningMethod, error) {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jwt.SigningMethodES256, nil
		case elliptic.P384():
			return jwt.SigningMethodES384, nil
		}
	case ed25519.PublicKey:
		return jwt.SigningMethodEdDSA, nil
	case *rsa.PublicKey:
		if key.N.BitLen() >= 2048 {
			return jwt.SigningMethodPS256, nil
		}
	}
	return nil, errors.New("the key of a node's certificate must be ECDSA P-256 or P-384, Ed25519, or RSA of 2048 bits or more")
}

// signed reports whether the CA has signed a node's certificate; without a CA it checks nothing.
func (id *Identity) signed(shown []*x509.Certificate) error {
	if len(shown) == 0 {
		return errors.New("no certificate was shown")
	}
	if id.roots == nil {
		return nil
	}
	between := x509.NewCertPool()
	for _, one := range shown[1:] {
		between.AddCert(one)
	}
	_, err := shown[0].Verify(x509.VerifyOptions{Roots: id.roots, Intermediates: between,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
	return err
}

// config returns the TLS configuration for either side; it calls check with the peer's certificate, after the CA's
// check.
func (id *Identity) config(check func(*x509.Certificate) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{id.certificate}, NextProtos: []string{"h2"},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		// Names prove nothing here: VerifyConnection runs in every handshake and requires the exact certificate.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if err := id.signed(state.PeerCertificates); err != nil {
				return err
			}
			return check(state.PeerCertificates[0])
		},
	}
}
