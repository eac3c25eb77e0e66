// People in browsers: each connects to a realtime server with the service's own client, and subscribes to channels by the
// API. Prints a line of JSON for whatever happens to them, until its input ends.
//
//   realtime_client.cjs HOST PORT KEY AUTH-URL NAME=API-KEY=CHANNEL,CHANNEL…
'use strict';
const Pusher = require('pusher-js');

const [host, port, key, endpoint, ...people] = process.argv.slice(2);
const say = line => console.log(JSON.stringify(line));

for (const person of people) {
  const [who, apiKey, channels] = person.split('=');
  const pusher = new Pusher(key, {
    cluster: 'mt1',
    wsHost: host,
    wsPort: port,
    forceTLS: false,
    enabledTransports: ['ws'],
    disableStats: true,
    channelAuthorization: { endpoint, headers: { Authorization: `Bearer ${apiKey}` } },
  });
  for (const channel of channels.split(',')) {
    const subscription = pusher.subscribe(channel);
    subscription.bind('pusher:subscription_succeeded', members => {
      say({ who, subscribed: channel, members: members?.members, me: members?.me });
    });
    subscription.bind('pusher:subscription_error', error => say({ who, refused: channel, status: error.status }));
    subscription.bind('pusher:member_added', member => say({ who, channel, added: member.id }));
    subscription.bind_global((event, data) => {
      if (!event.startsWith('pusher:')) {
        say({ who, channel, event, data });
      }
    });
  }
}
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
