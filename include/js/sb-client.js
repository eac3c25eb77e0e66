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

/** How long a request may take. */
const REQUEST_LIMIT = 30_000;

/** Statuses after which a request may have been carried out or not, 0 where there was no answer at all. */
const UNCERTAIN = [0, 502, 503, 504];

/** How many messages are remembered, so that none is handed over twice. */
const REMEMBERED = 5_000;

/** In how many conversations, the last ones, messages are read again after a gap. */
const FOLLOWED = 50;

/** Seconds between two signs of life on a connection to a push service, which may ask for more. */
const HEARTBEAT = 25;

/** How far back messages are read again after a gap: on a cluster a lower id may come after a higher one. */
const OVERLAP = 100;

/** Why a request was refused. `code` is the API's: conversation-not-found, rate-limit-exceeded, … */
export class SBError extends Error {
  constructor(code, message, details = {}) {
    super(message || code, { cause: details.cause });
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
  #heartbeat = HEARTBEAT;
  #held = null;
  #wasOpen = false;
  #isClosed = false;

  /**
   * @param {object} options
   * @param {string} options.apiKey the API key
   * @param {string} options.endpoint the address of the installation, behind which /v1 follows
   * @param {'auto'|'websocket'|'sse'} [options.transport] how the feed comes: by itself a WebSocket, where there are some
   * @param {object} [options.realtime] in place of the feed, the push service of the realtime integration:
   *     key, and cluster or host, port and tls; channels to follow: private-user-ID of a user, presence-agents of an agent
   */
  constructor({ apiKey, endpoint, transport = 'auto', realtime = null }) {
    if (!apiKey || !endpoint) {
      throw new TypeError('SBClient needs apiKey and endpoint');
    }
    if (realtime && !(realtime.key && realtime.channels?.length)) {
      throw new TypeError('realtime needs key and channels');
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
    this.#extend(sent.conversation_id, id, id - 1);
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
        if (!UNCERTAIN.includes(error.status) || tries === TRIES || this.#isClosed) {
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
    const all = { ...headers, Authorization: `Bearer ${this.#key}` };
    const signal = AbortSignal.timeout(REQUEST_LIMIT);
    try {
      const answer = await fetch(this.#endpoint + path, { method, headers: all, body, credentials: 'omit', signal });
      if (!answer.ok) {
        throw await refusal(answer);
      }
      return await answer.json();
    } catch (error) {
      // Also an answer that breaks off, or that is someone else's.
      throw error instanceof SBError ? error : new SBError('unreachable', 'the service cannot be reached', { cause: error });
    }
  }

  // The feed.

  #connect() {
    if (this.#link || this.#timer || this.#isClosed) {
      return;
    }
    const link = this.#open(event => this.#link === link && this.#take(event));
    this.#link = link;
    this.#listenForSilence();
    link.ended.then(end => {
      if (this.#link === link) {
        this.#link = null;
        clearTimeout(this.#silence);
        this.#ended(end);
      }
    });
  }

  #open(take) {
    if (this.#realtime) {
      const authorize = (socket_id, channel_name) => this.#post('/v1/realtime/auth', { socket_id, channel_name });
      return overPushService(this.#realtime, this.#wasOpen, authorize, take);
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
      this.#emit('error', error);
      this.close();
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

  #take(event) {
    this.#listenForSilence();
    this.#lastEvent = event.id ?? this.#lastEvent;
    if (event.event === 'hello') {
      this.#opened(event.data);
    } else if (event.event !== 'heartbeat' && this.#held) {
      this.#held.push(event);
    } else if (event.event !== 'heartbeat') {
      this.#hand(event);
    }
  }

  #opened(data) {
    this.#failures = 0;
    this.#wasOpen = true;
    this.#heartbeat = data.heartbeat ?? this.#heartbeat;
    this.#lastEvent = data.last_event_id ?? this.#lastEvent;
    this.#emit('open', data);
  }

  /** Lets nothing pass until something is done, so that what was missed comes before what is new. */
  #hold(work) {
    this.#held = [];
    work.then(() => {
      const held = this.#held;
      this.#held = null;
      // One of them may hold up those behind it.
      held.forEach(event => (this.#held ? this.#held.push(event) : this.#hand(event)));
    });
  }

  #hand({ event, data }) {
    if (event === 'resync') {
      this.#hold(this.#catchUp().then(() => this.#emit('resync', data)));
    } else if (data?.truncated && event.startsWith('message')) {
      this.#hold(this.#whole(data).then(message => this.#tell(event, message)));
    } else {
      this.#tell(event, data);
    }
  }

  #tell(event, data) {
    if (event !== 'message' || this.#isNew(data)) {
      this.#emit(event, data);
    }
  }

  /** A message that was too long for the push service, with its text. */
  async #whole(message) {
    const { id, conversation_id } = message;
    try {
      const place = { after: String(Number(id) - 1), limit: 1 };
      const page = await this.#get(`/v1/conversations/${conversation_id}/messages`, place);
      return page.data.find(found => found.id === id) ?? message;
    } catch {
      return message;
    }
  }

  /** Reads what was written while the feed did not come, in the conversations of which something is known. */
  async #catchUp() {
    for (const [conversation, { first, last }] of [...this.#spans]) {
      try {
        let after = String(Math.max(first - 1, last - OVERLAP));
        while (after && !this.#isClosed) {
          const page = await this.#get(`/v1/conversations/${conversation}/messages`, { after });
          for (const message of page.data) {
            if (this.#isNew(message)) {
              this.#emit('message', message);
            }
          }
          after = page.next_cursor;
        }
      } catch (error) {
        // The handlers of resync hear of it, and may read what they show anew.
        if (error.status === 0) {
          return;
        }
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
    this.#extend(conversation_id, Number(id), Number(id));
    return true;
  }

  /** Notes from where to where messages of a conversation are known. */
  #extend(conversation, from, to) {
    const { first, last } = this.#spans.get(conversation) ?? { first: from, last: to };
    // The last that is heard of stands last.
    this.#spans.delete(conversation);
    this.#spans.set(conversation, { first: Math.min(first, from), last: Math.max(last, to) });
    if (this.#spans.size > FOLLOWED) {
      this.#spans.delete(this.#spans.keys().next().value);
    }
  }

  #listenForSilence() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#link?.close(), this.#heartbeat * 2500);
    this.#silence.unref?.();
  }

  #emit(event, data) {
    if (this.#isClosed) {
      return;
    }
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
  let end;
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
    end = () => resolve({ wasOpen, error: null });
  });
  return { ended, close: () => leave(socket, end) };
}

/** Closes a WebSocket. The other side may be out of reach, and is not waited for. */
function leave(socket, end) {
  socket.close();
  end();
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

/**
 * The push service of the realtime integration, which speaks the Pusher Channels protocol. It keeps nothing for those who
 * come back: that they may have missed something is said here.
 */
function overPushService({ key, cluster, host, port, tls = true, channels }, isAgain, authorize, take) {
  const place = host ? `${host}${port ? `:${port}` : ''}` : `ws-${cluster || 'mt1'}.pusher.com`;
  const socket = new WebSocket(`${tls ? 'wss' : 'ws'}://${place}/app/${encodeURIComponent(key)}?protocol=7&client=sb&version=1`);
  const send = (event, data) => socket.send(JSON.stringify({ event, data }));
  const missing = new Set(channels);
  let wasOpen = false;
  let failure = null;
  let pulse;
  let end;
  const fail = error => {
    failure ??= error;
    socket.close();
  };
  const subscribe = async socketId => {
    for (const channel of channels) {
      const isOpen = !/^(private|presence)-/.test(channel);
      send('pusher:subscribe', isOpen ? { channel } : { channel, ...await authorize(socketId, channel) });
    }
  };
  const open = heartbeat => {
    wasOpen = true;
    take({ event: 'hello', data: { heartbeat } });
    if (isAgain) {
      take({ event: 'resync', data: {} });
    }
  };
  const presence = (user_id, info, online) => {
    take({ event: 'presence', data: { user_id, user_type: info?.user_type ?? null, online } });
  };
  let heartbeat = HEARTBEAT;
  const handlers = {
    'pusher:connection_established': ({ socket_id, activity_timeout }) => {
      heartbeat = Math.min(activity_timeout || HEARTBEAT, HEARTBEAT);
      pulse = setInterval(() => send('pusher:ping', {}), heartbeat * 1000);
      subscribe(socket_id).catch(fail);
    },
    'pusher:ping': () => send('pusher:pong', {}),
    'pusher:subscription_error': data => fail(new SBError('forbidden', data?.error, { status: data?.status })),
    'pusher_internal:subscription_succeeded': (data, channel) => {
      // Open is what hears of everything.
      if (missing.delete(channel) && missing.size === 0) {
        open(heartbeat);
      }
      Object.entries(data?.presence?.hash ?? {}).forEach(([id, info]) => presence(id, info, true));
    },
    'pusher_internal:member_added': ({ user_id, user_info }) => presence(user_id, user_info, true),
    'pusher_internal:member_removed': ({ user_id }) => presence(user_id, null, false),
  };
  const ended = new Promise(resolve => {
    socket.onmessage = ({ data: text }) => {
      const { event, channel, data: given } = JSON.parse(text);
      const data = decoded(given);
      take({ event: 'heartbeat' });
      if (Object.hasOwn(handlers, event)) {
        handlers[event](data, channel);
      } else if (!/^pusher(_internal)?:/.test(event)) {
        take({ event, data });
      }
    };
    end = code => {
      clearInterval(pulse);
      // 4000 to 4099: connecting again would not help.
      const refused = code >= 4000 && code < 4100 ? new SBError('forbidden', `the push service closes with ${code}`) : null;
      resolve({ wasOpen, error: failure ?? refused });
    };
    socket.onclose = ({ code }) => end(code);
  });
  return { ended, close: () => leave(socket, end) };
}

/** Data of the push service: JSON in a text, but whoever triggers an event may send a text of another kind. */
function decoded(data) {
  if (typeof data !== 'string' || data === '') {
    return data;
  }
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
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
