package api

import (
	"harness/api/rest"
	"net/http"
)

func badURLBody(uri string) []byte {
	encoded, err := rest.Encode(struct {
		Error      string `json:"error"`
		Code       string `json:"code"`
		Message    string `json:"message"`
		StatusCode int    `json:"statusCode"`
	}{"Bad Request", "FST_ERR_BAD_URL", "'" + uri + "' is not a valid url component", http.StatusBadRequest})
	if err != nil {
		return rest.InternalErrorBody() // strings and a number always encode
	}
	return encoded
}
