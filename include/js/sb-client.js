/**
 * The client of the chat platform's HTTP API and of its feed of events: for pages, as an ES module, and for Node.
 *
 *     const client = new SBClient({ apiKey: 'sb_live_…', endpoint: 'https://support.example/chat' });
 *     client.on('message', message => show(message));
 *     await client.sendMessage({ conversation_id: '1', user_id: '3', message: 'Hello' });
 *
 * sb-client.classic.js is the same for a plain <script>; sb-client.d.ts has the types.
 */

/** How long a message is tried again when it may not have arrived. The key it is sent with makes sure that it counts once. */
const TRIES = 3;

/** Milliseconds before the feed is opened again: the first time, and at most. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

/** How many events are remembered, so that none is handed over twice. */
const REMEMBERED = 5_000;

/** How far back messages are read again after a gap: on a cluster a lower id may come after a higher one. */
const OVERLAP = 100;

/** Why a request was refused. `code` is the API's: conversation-not-found, rate-limit-exceeded, … */
export class SBError extends Error {
  constructor(code, message, details = {}) {
    super(message || code);
    this.name = 'SBError';
    this.code = code;
    this.status = details.status ?? 0;
    this.field = details.field;
    this.requestId = details.requestId;
    this.errors = details.errors ?? [];
    this.retryAfter = details.retryAfter;
  }
}

/** The client. It follows the feed as soon as somebody listens. */
export class SBClient {
  #key;
  #endpoint;
  #realtime;
  #transports;
  #turn = 0;
  #handlers = new Map();
  #known = new Set();
  #spans = new Map();
  #lastEvent = null;
  #link = null;
  #failures = 0;
  #timer = null;
  #silence = null;
  #heartbeat = 25;
  #isClosed = false;

  /**
   * @param {object} options
   * @param {string} options.apiKey the API key
   * @param {string} options.endpoint the address of the installation, behind which /v1 follows
   * @param {'auto'|'websocket'|'sse'} [options.transport] how the feed comes: by itself a WebSocket, where there are some
   * @param {object} [options.realtime] in place of the feed, the push service of the realtime integration:
   *     key, and cluster or host, port and tls; channels to follow, such as private-user-3
   */
  constructor({ apiKey, endpoint, transport = 'auto', realtime = null }) {
    if (!apiKey || !endpoint) {
      throw new TypeError('SBClient needs apiKey and endpoint');
    }
    this.#key = apiKey;
    this.#endpoint = String(endpoint).replace(/\/+$/, '');
    this.#realtime = realtime;
    const hasSockets = typeof globalThis.WebSocket === 'function';
    this.#transports = transport === 'auto' ? (hasSockets ? ['websocket', 'sse'] : ['sse']) : [transport];
  }

  /**
   * Sends a message. Where the connection breaks it is sent again, and still counts once.
   *
   * @returns {Promise<{id: string, status: string, timestamp: string, conversation_id: string}>} rejected with an SBError
   */
  async sendMessage({ conversation_id, message = '', user_id, attachments = [] }) {
    const body = { conversation_id: String(conversation_id), message, user_id: String(user_id), attachments };
    const sent = await this.#post('/v1/messages', body);
    // It comes by the feed; others before it may not be known.
    const id = Number(sent.id);
    if (!this.#spans.has(sent.conversation_id)) {
      this.#spans.set(sent.conversation_id, { first: id, last: id - 1 });
    }
    return sent;
  }

  /** Opens a conversation: `{ user_id, title, department, … }`. */
  openConversation(conversation) {
    return this.#post('/v1/conversations', conversation);
  }

  /** Messages of a conversation, oldest first: a page `{ data, next_cursor }` of those after an id. */
  async messages(conversation_id, { after, limit } = {}) {
    const page = await this.#get(`/v1/conversations/${encodeURIComponent(conversation_id)}/messages`, { after, limit });
    page.data.forEach(message => this.#isNew(message));
    return page;
  }

  /** Conversations, newest first: a page `{ data, next_cursor }`. */
  conversations(filter = {}) {
    return this.#get('/v1/conversations', filter);
  }

  /**
   * Listens to an event: message, typing, conversation.status, … Also open and close, of the connection; error, with an
   * SBError, when the feed is refused; resync, when something may have been missed: the messages of conversations that
   * the client knows are handed over by then.
   *
   * @returns {() => void} stops listening
   */
  on(event, handler) {
    const handlers = this.#handlers.get(event) ?? new Set();
    this.#handlers.set(event, handlers.add(handler));
    this.#connect();
    return () => handlers.delete(handler);
  }

  /** Ends it. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#link?.close();
    this.#link = null;
  }

  // Requests.

  async #post(path, body) {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': unique() };
    for (let tries = 1; ; tries++) {
      try {
        return await this.#ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
      } catch (error) {
        const mayPass = error.status === 0 || error.status === 503;
        if (!mayPass || tries === TRIES || this.#isClosed) {
          throw error;
        }
        await pause((error.retryAfter ?? tries) * 1000);
      }
    }
  }

  #get(path, parameters) {
    const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null);
    const query = new URLSearchParams(given).toString();
    return this.#ask(query ? `${path}?${query}` : path, { method: 'GET', headers: {} });
  }

  async #ask(path, { method, headers, body }) {
    let answer;
    try {
      const all = { ...headers, Authorization: `Bearer ${this.#key}` };
      answer = await fetch(this.#endpoint + path, { method, headers: all, body, credentials: 'omit' });
    } catch (error) {
      throw new SBError('unreachable', `the service cannot be reached: ${error.message}`);
    }
    if (!answer.ok) {
      throw await refusal(answer);
    }
    return answer.json();
  }

  // The feed.

  #connect() {
    if (this.#link || this.#timer || this.#isClosed) {
      return;
    }
    const link = this.#open();
    this.#link = link;
    link.ended.then(end => {
      if (this.#link === link) {
        this.#link = null;
        clearTimeout(this.#silence);
        this.#ended(end);
      }
    });
  }

  #open() {
    const take = event => this.#take(event);
    if (this.#realtime) {
      return overPushService(this.#realtime, (socket, channel) => this.#authorize(socket, channel), take);
    }
    const transport = this.#transports[this.#turn % this.#transports.length];
    const open = transport === 'websocket' ? overWebSocket : overEvents;
    return open(this.#endpoint, this.#key, this.#lastEvent, take);
  }

  #ended({ wasOpen, error }) {
    if (this.#isClosed) {
      return;
    }
    if (wasOpen) {
      this.#emit('close', null);
    }
    if (error && !mayPass(error)) {
      this.#isClosed = true;
      this.#emit('error', error);
      return;
    }
    // A way that did not work gives way to the other.
    this.#turn += wasOpen ? 0 : 1;
    const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.#failures);
    const wait = Math.max((error?.retryAfter ?? 0) * 1000, longest * (0.5 + Math.random() / 2));
    this.#failures++;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#connect();
    }, wait);
  }

  #take({ id, event, data }) {
    this.#listenForSilence();
    if (event === 'heartbeat') {
      return;
    }
    if (event === 'hello') {
      this.#failures = 0;
      this.#heartbeat = data.heartbeat ?? this.#heartbeat;
      this.#lastEvent = data.last_event_id ?? this.#lastEvent;
      this.#emit('open', data);
      return;
    }
    if (id) {
      this.#lastEvent = id;
    }
    if (event === 'resync') {
      this.#catchUp().then(() => this.#emit('resync', data));
      return;
    }
    if (event !== 'message' || this.#isNew(data)) {
      this.#emit(event, data);
    }
  }

  /** Reads what was written while the feed did not come, in the conversations of which something is known. */
  async #catchUp() {
    for (const [conversation, { first, last }] of [...this.#spans]) {
      try {
        let after = String(Math.max(first - 1, last - OVERLAP));
        while (after) {
          const page = await this.#get(`/v1/conversations/${conversation}/messages`, { after });
          for (const message of page.data) {
            if (this.#isNew(message)) {
              this.#emit('message', message);
            }
          }
          after = page.next_cursor;
        }
      } catch {
        // The handlers of resync hear of it, and may read what they show anew.
      }
    }
  }

  /** Notes a message, and says whether it was not known yet. After a failover an id may be given out again. */
  #isNew({ id, creation_time, conversation_id }) {
    const name = `${id} ${creation_time}`;
    if (this.#known.has(name)) {
      return false;
    }
    this.#known.add(name);
    if (this.#known.size > REMEMBERED) {
      this.#known.delete(this.#known.values().next().value);
    }
    const number = Number(id);
    const { first, last } = this.#spans.get(conversation_id) ?? { first: number, last: number };
    this.#spans.set(conversation_id, { first: Math.min(first, number), last: Math.max(last, number) });
    return true;
  }

  async #authorize(socket_id, channel_name) {
    return this.#post('/v1/realtime/auth', { socket_id, channel_name });
  }

  #listenForSilence() {
    clearTimeout(this.#silence);
    if (!this.#realtime) {
      this.#silence = setTimeout(() => this.#link?.close(), this.#heartbeat * 2500);
      this.#silence.unref?.();
    }
  }

  #emit(event, data) {
    for (const handler of [...(this.#handlers.get(event) ?? [])]) {
      try {
        handler(data);
      } catch (error) {
        // One handler's fault is not the others'.
        setTimeout(() => { throw error; });
      }
    }
  }
}

/** The login of the library in the browser. */
export const SBF = {
  /** Keeps the login data that sb_login and sb_update_login give, in the Web Storage and as the cookie of the server. */
  loginCookie(data) {
    storage()?.setItem('sb-login', data);
    const secure = globalThis.location?.protocol === 'https:' ? '; Secure' : '';
    document.cookie = `sb-login=${encodeURIComponent(data)}; Max-Age=31536000; Path=/; SameSite=Lax${secure}`;
    return true;
  },

  /** Forgets it. A cookie that the server has set itself is out of reach of scripts: sb_logout takes it away. */
  logout() {
    storage()?.removeItem('sb-login');
    document.cookie = 'sb-login=; Max-Age=0; Path=/; SameSite=Lax';
    return true;
  },
};

function storage() {
  try {
    return globalThis.localStorage;
  } catch {
    // Where a page may not store anything.
    return null;
  }
}

// The ways that events come. Each gives { ended, close }: a promise of { wasOpen, error }, and what ends it.

function overWebSocket(endpoint, key, lastEvent, take) {
  const socket = new WebSocket(`${endpoint.replace(/^http/, 'ws')}/v1/events`);
  let wasOpen = false;
  const ended = new Promise(resolve => {
    socket.onopen = () => socket.send(JSON.stringify({ type: 'auth', api_key: key, last_event_id: lastEvent }));
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      wasOpen ||= event.event === 'hello';
      take(event);
    };
    socket.onclose = ({ code, reason }) => {
      resolve({ wasOpen, error: code === 1008 ? new SBError(reason || 'forbidden') : null });
    };
  });
  return { ended, close: () => socket.close() };
}

function overEvents(endpoint, key, lastEvent, take) {
  const stop = new AbortController();
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
  if (lastEvent) {
    headers['Last-Event-ID'] = lastEvent;
  }
  let wasOpen = false;
  const read = async () => {
    const answer = await fetch(`${endpoint}/v1/events`, { headers, signal: stop.signal, credentials: 'omit' });
    if (!answer.ok) {
      return refusal(answer);
    }
    wasOpen = true;
    const decoder = new TextDecoder();
    let text = '';
    for (const reader = answer.body.getReader(); ;) {
      const { value, done } = await reader.read();
      if (done) {
        return null;
      }
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = parsed(text.slice(0, end));
        text = text.slice(end + 2);
        if (event) {
          take(event);
        }
      }
    }
  };
  const ended = read().then(error => ({ wasOpen, error }), () => ({ wasOpen, error: null }));
  return { ended, close: () => stop.abort() };
}

/** One of server-sent events. */
function parsed(block) {
  const fields = Object.fromEntries(block.split('\n').map(line => {
    const at = line.indexOf(':');
    return [line.slice(0, at), line.slice(at + 1).trimStart()];
  }));
  return fields.event ? { id: fields.id, event: fields.event, data: JSON.parse(fields.data || '{}') } : null;
}

/** The push service of the realtime integration, which speaks the Pusher Channels protocol. */
function overPushService({ key, cluster, host, port, tls = true, channels = [] }, authorize, take) {
  const place = host ? `${host}${port ? `:${port}` : ''}` : `ws-${cluster || 'mt1'}.pusher.com`;
  const socket = new WebSocket(`${tls ? 'wss' : 'ws'}://${place}/app/${key}?protocol=7&client=sb&version=1`);
  const send = (event, data) => socket.send(JSON.stringify({ event, data }));
  let wasOpen = false;
  let failure = null;
  const subscribe = async socketId => {
    for (const channel of channels) {
      const isOpen = !/^(private|presence)-/.test(channel);
      send('pusher:subscribe', isOpen ? { channel } : { channel, ...await authorize(socketId, channel) });
    }
  };
  const ended = new Promise(resolve => {
    socket.onmessage = ({ data: text }) => {
      const { event, data: given } = JSON.parse(text);
      const data = typeof given === 'string' && given ? JSON.parse(given) : given;
      if (event === 'pusher:connection_established') {
        wasOpen = true;
        take({ event: 'hello', data: {} });
        subscribe(data.socket_id).catch(error => {
          failure = error;
          socket.close();
        });
      } else if (event === 'pusher:ping') {
        send('pusher:pong', {});
      } else if (!/^pusher/.test(event)) {
        take({ event, data });
      }
    };
    socket.onclose = ({ code }) => {
      // 4000 to 4099: connecting again would not help.
      const refused = code >= 4000 && code < 4100 ? new SBError('forbidden', `the push service closes with ${code}`) : null;
      resolve({ wasOpen, error: failure ?? refused });
    };
  });
  return { ended, close: () => socket.close() };
}

/** Whether the feed may be open again later. */
function mayPass({ code, status }) {
  return code === 'rate-limit-exceeded' || code === 'unreachable' || code === 'unavailable' || status >= 500;
}

/** The refusal that an answer is. */
async function refusal(answer) {
  const body = await answer.json().catch(() => ({}));
  const first = body.errors?.[0] ?? { code: `http-${answer.status}` };
  return new SBError(first.code, first.message, {
    status: answer.status,
    field: first.field,
    requestId: body.request_id,
    errors: body.errors,
    retryAfter: Number(answer.headers.get('Retry-After')) || undefined,
  });
}

function pause(milliseconds) {
  return new Promise(resolve => { setTimeout(resolve, milliseconds); });
}

/** A name that no other request has. Outside of secure pages there is no randomUUID. */
function unique() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('');
}
