// crypto and performance: the parts that need no authority.
(function (web) {
  "use strict";
  const integers = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
  const most = 65536;
  const crypto = {
    getRandomValues(array) {
      if (!integers.some((Kind) => array instanceof Kind)) throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
      if (array.byteLength > most) {
        throw new DOMException("The requested length exceeds " + most + " bytes", "QuotaExceededError");
      }
      const random = Uint8Array.fromBase64(web.host("random", String(array.byteLength)));
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(random);
      return array;
    },
    randomUUID: () => web.host("uuid", ""),
    get subtle() { throw new DOMException("crypto.subtle is not there in embedded extensions. " + web.remedy, "NotSupportedError"); },
    get [Symbol.toStringTag]() { return "Crypto"; },
  };
  const timeOrigin = Number(web.host("origin", ""));
  const performance = {
    now: () => Number(web.host("now", "")),
    timeOrigin,
    toJSON: () => ({ timeOrigin }),
    get [Symbol.toStringTag]() { return "Performance"; },
  };
  return { crypto, performance };
})
