// The language model of notebooks/model, a byte at a time, in plain JavaScript: the arithmetic of
// reference/transformer_lm.hpp in float64. Keys and values of earlier bytes are kept (a KV cache), so
// that a byte costs one row of each product. Nothing here knows of a page.
class LanguageModel {
  // sizes: of training.json; shapes: {name: [rows, columns] or [length]} in the order of the base64
  // text, which holds float16 numbers, little-endian.
  constructor({ sizes, shapes, float16 }) {
    const bytes = Uint8Array.from(atob(float16), (letter) => letter.charCodeAt(0));
    const half = new DataView(bytes.buffer);
    let at = 0;
    this.sizes = sizes;
    this.weights = {};
    for (const [name, shape] of Object.entries(shapes)) {
      const values = new Float64Array(shape.reduce((a, b) => a * b));
      for (let i = 0; i < values.length; i++, at += 2) values[i] = fromHalf(half.getUint16(at, true));
      this.weights[name] = values;
    }
    this.restart();
  }

  // Forgets the text.
  restart() {
    this.cache = Array.from({ length: this.sizes.num_layers }, () => ({ k: [], v: [] }));
    this.length = 0;
  }

  // Reads one more byte. Returns {logits[256], attention[layer][head][position]}: the scores of the
  // byte after it, and what the weights of this byte's heads were.
  read(byte) {
    const { d_model, num_layers, num_heads, context_length, theta } = this.sizes;
    if (this.length === context_length) throw new RangeError(`the context has ${context_length} bytes`);
    const of = (name) => this.weights[`${name}.weight`];
    const d_k = d_model / num_heads, position = this.length++, attention = [];
    let x = of("token_embeddings").slice(byte * d_model, (byte + 1) * d_model);
    for (let layer = 0; layer < num_layers; layer++) {
      const own = (name) => of(`layers.${layer}.${name}`), { k, v } = this.cache[layer];
      const a = this.norm(x, own("ln1"));
      const q = rotated(linear(a, own("attn.q_proj")), d_k, position, theta);
      k.push(rotated(linear(a, own("attn.k_proj")), d_k, position, theta));
      v.push(linear(a, own("attn.v_proj")));
      const heads = new Float64Array(d_model);
      attention.push([]);
      for (let first = 0; first < d_model; first += d_k) {
        const scores = k.map((key) => {
          let sum = 0;
          for (let i = first; i < first + d_k; i++) sum += q[i] * key[i];
          return sum / Math.sqrt(d_k);
        });
        const weights = softmax(scores);
        weights.forEach((weight, j) => {
          for (let i = first; i < first + d_k; i++) heads[i] += weight * v[j][i];
        });
        attention[layer].push(weights);
      }
      x = plus(x, linear(heads, own("attn.output_proj")));
      const b = this.norm(x, own("ln2"));
      const gate = linear(b, own("ffn.w1")), value = linear(b, own("ffn.w3"));
      x = plus(x, linear(value.map((each, i) => each * (gate[i] / (1 + Math.exp(-gate[i])))), own("ffn.w2")));
    }
    return { logits: linear(this.norm(x, of("ln_final")), of("lm_head")), attention };
  }

  norm(x, gain) {
    const root = Math.sqrt(x.reduce((sum, each) => sum + each * each, 0) / x.length + this.sizes.eps);
    return x.map((each, i) => (each / root) * gain[i]);
  }
}

const plus = (x, y) => x.map((each, i) => each + y[i]);

// x[d_in], weight[d_out, d_in] -> y[d_out]
function linear(x, weight) {
  const y = new Float64Array(weight.length / x.length);
  for (let row = 0, at = 0; row < y.length; row++) {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += weight[at++] * x[i];
    y[row] = sum;
  }
  return y;
}

// RoPE of all heads of a row.
function rotated(x, d_k, position, theta) {
  const y = new Float64Array(x.length);
  for (let i = 0; i < x.length; i += 2) {
    const angle = position / theta ** ((i % d_k) / d_k), cos = Math.cos(angle), sin = Math.sin(angle);
    y[i] = x[i] * cos - x[i + 1] * sin;
    y[i + 1] = x[i] * sin + x[i + 1] * cos;
  }
  return y;
}

function softmax(x) {
  const most = x.reduce((a, b) => Math.max(a, b));
  const powers = x.map((each) => Math.exp(each - most)), sum = powers.reduce((a, b) => a + b);
  return powers.map((each) => each / sum);
}

// The value of the 16 bits of a float16: sign, 5 bits of exponent, 10 of mantissa. None is infinite.
function fromHalf(bits) {
  const sign = bits >> 15 ? -1 : 1, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + mantissa) : 2 ** -24 * mantissa);
}
